//! Outputs and parameters of a run that resumes from a checkpoint.

use std::collections::VecDeque;

use super::Job;
use crate::Result;
use crate::output::Written;
use crate::params::ParamKind;
use crate::value::Value;

impl Job {
    /// Makes the next outputs that are opened continue after these elements, in this order. Their files stay unchanged
    /// until the first element is written, even if the run fails before.
    pub fn continue_outputs(&mut self, before: impl IntoIterator<Item = Written>) {
        self.continued = before.into_iter().collect::<VecDeque<_>>();
        self.files.keeps = !self.continued.is_empty();
    }

    /// The elements after which the output being opened continues.
    pub(super) fn next_continued(&mut self, output: &str) -> Result<Option<Written>> {
        let before = self.continued.pop_front();
        self.files.keeps = !self.continued.is_empty();
        if let Some(before) = &before {
            before.check(output)?;
        }
        Ok(before)
    }

    /// Every declared parameter except files and those in `but`, with its given value or its default (`None`
    /// if the default depends on other things). Runs with the same settings have equal lists.
    pub fn settings(&self, but: &[&str]) -> Result<Vec<(&'static str, Option<String>)>> {
        let files = [ParamKind::Input, ParamKind::Output, ParamKind::NumberOrFile];
        let params = self.program.params.iter();
        let given = params
            .filter(|p| !p.ignored && p.is_shown() && !files.contains(&p.kind) && !but.contains(&p.name));
        given
            .map(|p| Ok((p.name, self.value(p.name)?.map(|value| words(&value)))))
            .collect()
    }

    /// The [`Self::settings`] that differ from their defaults.
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

    /// The program's declared name, even if it was called by another name.
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
