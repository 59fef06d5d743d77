//! What a run that goes on behind a saved state needs to know and to say.

use std::collections::VecDeque;

use super::Job;
use crate::Result;
use crate::output::Written;
use crate::params::ParamKind;
use crate::value::Value;

impl Job {
    /// Lets the next outputs that are opened go on behind these elements, in this order. Their files stay as they are
    /// until the first element is written, also when the run fails before.
    pub fn continue_outputs(&mut self, before: impl IntoIterator<Item = Written>) {
        self.continued = before.into_iter().collect::<VecDeque<_>>();
        self.files.keeps = !self.continued.is_empty();
    }

    /// The elements that the output being opened goes on behind.
    pub(super) fn next_continued(&mut self, output: &str) -> Result<Option<Written>> {
        let before = self.continued.pop_front();
        self.files.keeps = !self.continued.is_empty();
        if let Some(before) = &before {
            before.check(output)?;
        }
        Ok(before)
    }

    /// Every declared parameter but files and those in `but`, with its value as given or its default; none where it
    /// depends on other things. Equal for runs that were asked to do the same.
    pub fn settings(&self, but: &[&str]) -> Result<Vec<(&'static str, Option<String>)>> {
        let files = [ParamKind::Input, ParamKind::Output, ParamKind::NumberOrFile];
        let params = self.program.params.iter();
        let asked = params
            .filter(|p| !p.ignored && p.is_shown() && !files.contains(&p.kind) && !but.contains(&p.name));
        asked
            .map(|p| Ok((p.name, self.value(p.name)?.map(|value| words(&value)))))
            .collect()
    }

    /// Of [`Self::settings`] those that are not what they are by default.
    pub fn chosen(&self, but: &[&str]) -> Result<Vec<(&'static str, String)>> {
        let usual = |name: &str| {
            let param = self.program.params.iter().find(|p| p.name == name)?;
            let parsed = param.parse_as(name, param.default?.as_ref()).ok()?;
            Some(words(&parsed.value))
        };
        let all = self.settings(but)?.into_iter();
        let chosen = all.filter_map(|(name, value)| Some((name, value?)));
        Ok(chosen
            .filter(|(name, value)| usual(name).as_ref() != Some(value))
            .collect())
    }

    /// The program's own name, whatever it was called by.
    pub fn declared_name(&self) -> &'static str {
        self.program.name
    }
}

/// A value as it is typed.
fn words(value: &Value) -> String {
    let list = |numbers: Vec<String>| numbers.join(",");
    match value {
        Value::Int(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Flag(flag) => if *flag { "y" } else { "n" }.into(),
        Value::Text(text) => text.to_string_lossy().into_owned(),
        Value::Ints(numbers) => list(numbers.iter().map(i64::to_string).collect()),
        Value::Floats(numbers) => list(numbers.iter().map(f64::to_string).collect()),
    }
}
