//! One run of a program.
use crate::{Input, NumberOrFile, Output, Result};

/// One run: parameters, inputs, outputs, messages.
#[derive(Debug)]
pub struct Job {}

impl Job {
    /// Name by which the program was called.
    pub fn program(&self) -> &str {
        unimplemented!()
    }
    /// True when the parameter was on the command line or in a par= file.
    pub fn given(&self, _name: &str) -> bool {
        unimplemented!()
    }
    /// A whole number.
    pub fn int(&self, _name: &str) -> Result<i64> {
        unimplemented!()
    }
    /// A whole number that has no default.
    pub fn int_opt(&self, _name: &str) -> Result<Option<i64>> {
        unimplemented!()
    }
    /// A real number, rounded to f32.
    pub fn float(&self, _name: &str) -> Result<f32> {
        unimplemented!()
    }
    /// A real number that has no default.
    pub fn float_opt(&self, _name: &str) -> Result<Option<f32>> {
        unimplemented!()
    }
    /// A real number in full.
    pub fn double(&self, _name: &str) -> Result<f64> {
        unimplemented!()
    }
    /// A real number in full that has no default.
    pub fn double_opt(&self, _name: &str) -> Result<Option<f64>> {
        unimplemented!()
    }
    /// y or n.
    pub fn flag(&self, _name: &str) -> Result<bool> {
        unimplemented!()
    }
    /// y or n, without a default.
    pub fn flag_opt(&self, _name: &str) -> Result<Option<bool>> {
        unimplemented!()
    }
    /// One of the declared words.
    pub fn choice(&self, _name: &str) -> Result<&str> {
        unimplemented!()
    }
    /// A text, if given or defaulted.
    pub fn text(&self, _name: &str) -> Result<Option<String>> {
        unimplemented!()
    }
    /// A list of whole numbers; empty when absent.
    pub fn ints(&self, _name: &str) -> Result<Vec<i64>> {
        unimplemented!()
    }
    /// A list of real numbers; empty when absent.
    pub fn floats(&self, _name: &str) -> Result<Vec<f32>> {
        unimplemented!()
    }
    /// A number, or an open file; `None` when absent without default.
    pub fn number_or_file(&mut self, _name: &str) -> Result<Option<NumberOrFile>> {
        unimplemented!()
    }
    /// The dataset on standard input; call it before any output, so that outputs carry its history.
    pub fn stdin(&mut self) -> Result<Input> {
        unimplemented!()
    }
    /// The dataset of tag `name`.
    pub fn input(&mut self, _name: &str) -> Result<Input> {
        unimplemented!()
    }
    /// True when the parameter of that input was given.
    pub fn has_input(&self, _name: &str) -> bool {
        unimplemented!()
    }
    /// The dataset on standard output.
    pub fn output(&mut self) -> Result<Output> {
        unimplemented!()
    }
    /// The dataset of tag `name`; its files are created at once.
    pub fn tagged_output(&mut self, _name: &str) -> Result<Output> {
        unimplemented!()
    }
    /// A warning on stderr: `prog: text`.
    pub fn warn(&self, _text: &str) {
        unimplemented!()
    }
    /// A plain line on stderr: `prog: text`.
    pub fn say(&self, _text: &str) {
        unimplemented!()
    }
}
