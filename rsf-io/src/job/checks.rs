//! Checks of the command line that need no open file.

use std::ffi::OsStr;
use std::path::Path;

use super::Job;
use crate::params::{Param, ParamKind};
use crate::value::Value;
use crate::{Error, Result};

/// Answers to a yes-or-no question, which are not names of files.
const ANSWERS: [&str; 6] = ["y", "n", "yes", "no", "true", "false"];

impl Job {
    /// Refuses a run without its required parameters, and names all that are missing. The parameter of an
    /// input may be missing if a file has the name of its tag.
    pub(super) fn check_required(&self) -> Result<()> {
        let missing: Vec<String> = self
            .program
            .params
            .iter()
            .filter(|p| p.required && !self.values.contains_key(p.name))
            .filter(|p| p.kind != ParamKind::Input || !Path::new(p.name).exists())
            .map(|p| format!("{}= ({})", p.name, p.allowed()))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::new(format!(
            "missing: {}; see {} --help",
            missing.join(", "),
            self.name
        )))
    }

    /// Refuses `y` and `n` as names of output files: the user took the parameter for a switch.
    pub(super) fn check_outputs(&self) -> Result<()> {
        let outputs = self.program.params.iter().filter(|p| p.kind == ParamKind::Output);
        for Param { name, doc, .. } in outputs {
            if let Some(Value::Text(word)) = self.values.get(*name)
                && let Some(word) = ANSWERS.into_iter().find(|answer| word == answer)
            {
                return Err(Error::new(format!(
                    "{name}={word}: {name}= names the file for this output ({doc}), as in {name}={name}.rsf; without {name}= it is not written (a file of this name is ./{word})"
                )));
            }
        }
        Ok(())
    }

    /// Refuses a number, `y` or `n` in place of an RSF file, unless a file has that name.
    pub(super) fn check_name(&self, key: &str, path: &OsStr) -> Result<()> {
        let Some(word) = path.to_str().filter(|_| !Path::new(path).exists()) else {
            return Ok(());
        };
        let declared = self.declared(key).ok();
        let doc = declared.map(|param| param.doc).unwrap_or_default();
        if ANSWERS.contains(&word) {
            return Err(Error::new(format!(
                "{key}={word}: {key}= names an RSF file ({doc}), but there is none called {word}"
            )));
        }
        if let Ok(number) = word.parse::<f64>() {
            let allowed = match declared.map(|param| param.kind) {
                Some(ParamKind::NumberOrFile) => "a finite number (up to 3.4e38) or the name of an RSF file",
                _ if !number.is_finite() => "the name of an RSF file",
                _ => "",
            };
            if !allowed.is_empty() {
                return Err(Error::new(format!(
                    "{key}= got `{word}`, but must be {allowed} ({doc})"
                )));
            }
            let everywhere = format!(
                "sfmath n1= output={word} makes one that has this number everywhere, with n2= and so on, or < FILE for the axes of another file"
            );
            let advice = declared.and_then(|param| param.recipe).unwrap_or(&everywhere);
            return Err(Error::new(format!(
                "{key}={word} is a number, but {key}= takes an RSF file ({doc}): {advice}"
            )));
        }
        let numbers = word.split(',').map(str::parse::<f64>);
        if numbers.clone().count() > 1 && numbers.into_iter().all(|number| number.is_ok()) {
            return Err(Error::new(format!(
                "{key}={word} is a list of numbers, but {key}= takes an RSF file ({doc}): echo {word} | sfcsv2rsf > {key}.rsf makes one with n1={}",
                word.split(',').count()
            )));
        }
        Ok(())
    }
}
