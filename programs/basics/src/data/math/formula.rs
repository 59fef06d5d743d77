//! Formulas, which are parsed once and then evaluated for whole blocks of numbers.

use anyhow::{Result, bail, ensure};
use pest::Parser;
use pest::iterators::Pair;

use super::number::{Column, Number, Operator};

#[derive(pest_derive::Parser)]
#[grammar = "data/math/formula.pest"]
struct Grammar;

/// The largest depth of nested parentheses, for each of which the parser recurses.
const DEEPEST: usize = 100;

/// A formula with named variables.
///
/// `^` and `&` bind closest, then `*` and `/`, then a sign, then `+` and `-`. Operators of the same precedence are
/// evaluated from left to right. So `-x^2` is `-(x^2)` and `2^3^2` is `(2^3)^2`, as in Madagascar.
pub struct Formula<T> {
    root: Node<T>,
}

enum Node<T> {
    Number(T),
    Variable(usize),
    Call(fn(T) -> T, Box<Node<T>>),
    Negative(Box<Node<T>>),
    /// A chain of operators of the same precedence. It is flat, so that a long sum does not need a deep
    /// stack.
    Chain(Box<Node<T>>, Vec<(Operator, Node<T>)>),
}

impl<T: Number> Formula<T> {
    /// Parses a formula with the variables `names`, whose values are given later in that order.
    ///
    /// # Errors
    /// Returns an error if the text is not a formula (the message gives the place), or it uses an unknown name.
    pub fn read(text: &str, names: &[String]) -> Result<Self> {
        let depth = text.bytes().scan(0usize, |depth, byte| {
            match byte {
                b'(' => *depth += 1,
                b')' => *depth = depth.saturating_sub(1),
                _ => {}
            }
            Some(*depth)
        });
        ensure!(
            depth.max().unwrap_or(0) <= DEEPEST,
            "output= holds more than {DEEPEST} nested parentheses: split it into two commands"
        );
        let mut parsed = match Grammar::parse(Rule::formula, text) {
            Ok(parsed) => parsed,
            Err(error) => bail!("{}", complaint(text, error)),
        };
        let sum = parsed.next().and_then(|formula| formula.into_inner().next());
        let Some(sum) = sum else { bail!("output= is empty") };
        Ok(Self {
            root: node(sum, names)?,
        })
    }

    /// Evaluates the formula for a block of values of every variable.
    pub fn values<'a>(&self, variables: &[Column<'a, T>]) -> Column<'a, T> {
        self.root.values(variables)
    }

    /// Whether the formula uses the variable with this index.
    pub fn uses(&self, variable: usize) -> bool {
        self.root.uses(variable)
    }
}

impl<T: Number> Node<T> {
    fn values<'a>(&self, variables: &[Column<'a, T>]) -> Column<'a, T> {
        match self {
            Self::Number(value) => Column::One(*value),
            Self::Variable(i) => variables[*i].clone(),
            Self::Call(function, inner) => inner.values(variables).map(*function),
            Self::Negative(inner) => inner.values(variables).map(|value| -value),
            Self::Chain(first, rest) => rest
                .iter()
                .fold(first.values(variables), |left, (operator, right)| {
                    operator.apply(left, right.values(variables))
                }),
        }
    }

    fn uses(&self, variable: usize) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Variable(i) => *i == variable,
            Self::Call(_, inner) | Self::Negative(inner) => inner.uses(variable),
            Self::Chain(first, rest) => {
                first.uses(variable) || rest.iter().any(|(_, node)| node.uses(variable))
            }
        }
    }
}

fn node<T: Number>(pair: Pair<Rule>, names: &[String]) -> Result<Node<T>> {
    let text = pair.as_str();
    match pair.as_rule() {
        Rule::number => Ok(Node::Number(T::from_real(text.parse()?))),
        Rule::name => match names.iter().position(|name| name == text) {
            Some(i) => Ok(Node::Variable(i)),
            None if text == "pi" => Ok(Node::Number(T::from_real(std::f64::consts::PI))),
            None if T::function(text).is_some() => {
                bail!("the function {text} needs parentheses: {text}(...)")
            }
            None => bail!(
                "output= uses `{text}`, which is not defined; use one of {}",
                names.join(", ")
            ),
        },
        Rule::call => {
            let mut inner = pair.into_inner();
            let (Some(name), Some(argument)) = (inner.next(), inner.next()) else {
                bail!("`{text}` has no argument");
            };
            let Some(function) = T::function(name.as_str()) else {
                bail!(
                    "`{}` is not a function of {} data; use one of {}",
                    name.as_str(),
                    T::WORD,
                    T::FUNCTIONS.join(", ")
                );
            };
            Ok(Node::Call(function, Box::new(node(argument, names)?)))
        }
        _ => chain(pair, names),
    }
}

/// Parses operands and the operators and signs between them.
fn chain<T: Number>(pair: Pair<Rule>, names: &[String]) -> Result<Node<T>> {
    let mut first = None;
    let mut rest = Vec::new();
    let (mut operator, mut negative) = (None, false);
    for part in pair.into_inner() {
        match part.as_rule() {
            Rule::sign => negative ^= part.as_str() == "-",
            Rule::add | Rule::times | Rule::raise => {
                let next = Operator::named(part.as_str());
                ensure!(
                    T::KNOWS_ANGLES || next != Operator::Angle,
                    "the operator & (angle of a point) needs float data"
                );
                operator = Some(next);
            }
            _ => {
                let operand = node(part, names)?;
                let operand = if negative {
                    Node::Negative(Box::new(operand))
                } else {
                    operand
                };
                negative = false;
                match operator.take() {
                    Some(operator) => rest.push((operator, operand)),
                    None => first = Some(operand),
                }
            }
        }
    }
    match first {
        Some(only) if rest.is_empty() => Ok(only),
        Some(first) => Ok(Node::Chain(Box::new(first), rest)),
        None => bail!("output= is empty"),
    }
}

/// Whether a parenthesis is open at the end of a text.
fn is_in_parentheses(before: &str) -> bool {
    before.matches('(').count() > before.matches(')').count()
}

/// A message that describes an error in a text and gives its place.
fn complaint(text: &str, error: pest::error::Error<Rule>) -> String {
    let at = match error.location {
        pest::error::InputLocation::Pos(at) => at,
        pest::error::InputLocation::Span((at, _)) => at,
    };
    let renamed = error.renamed_rules(|rule| {
        match rule {
            Rule::number => "a number",
            Rule::name => "a name",
            Rule::sign | Rule::add => "+ or -",
            Rule::times => "* or /",
            Rule::raise => "^ or &",
            Rule::call => "a function",
            Rule::EOI => "the end",
            _ => "a number or a name",
        }
        .to_string()
    });
    let rest = text.get(at..).unwrap_or_default();
    let place = match rest.trim_start().is_empty() {
        true => "at its end".to_string(),
        false => format!("before `{}`", rest.chars().take(20).collect::<String>()),
    };
    let hint = if text.contains("**") {
        "; a power is written with ^, as in x1^2"
    } else if text.contains(['<', '>', '=']) {
        "; there are no comparisons: 0.5+0.5*sign(f) is 0 where f is below 0 and 1 where it is above"
    } else if rest.starts_with(',') && !is_in_parentheses(&text[..text.len() - rest.len()]) {
        "; numbers have a decimal point, as in 0.5"
    } else if rest.starts_with(',') {
        "; every function has one argument: 2*atan(y/(sqrt(x^2+y^2)+x)) is the angle atan2(y,x)"
    } else if is_in_parentheses(text) {
        "; a parenthesis is not closed"
    } else {
        ""
    };
    format!(
        "output=`{text}` cannot be read: {place} {}{hint}",
        renamed.variant.message()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f32 {
        let names = ["x".to_string(), "y".to_string()];
        let formula = Formula::<f32>::read(text, &names).unwrap_or_else(|e| panic!("{text}: {e}"));
        match formula.values(&[Column::One(3.0), Column::One(5.0)]) {
            Column::One(value) => value,
            Column::Many(_) => panic!("{text}: one value was expected"),
        }
    }

    #[test]
    fn ranks_of_operators() {
        for (text, expected) in [
            ("1+2*3", 7.0),
            ("-x^2", -9.0),
            ("2^3^2", 64.0),
            ("2-3-4", -5.0),
            ("24/4/2", 3.0),
            ("-2*-x", 6.0),
            ("2^-1*4", 2.0),
            ("--x+ +y", 8.0),
            ("1e-3*1E3+.5+2.", 3.5),
            ("(x+y)*(x-y)", -16.0),
            ("abs(-x) + sqrt(2*2)", 5.0),
            ("sign(-0.5)*y", -5.0),
            ("1&1", std::f32::consts::FRAC_PI_4),
            ("exp(-(x-1)^2)", (-4.0f32).exp()),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
    }

    #[test]
    fn messages_name_the_place_that_cannot_be_read() {
        let message = |text: &str| {
            Formula::<f32>::read(text, &["x".to_string()])
                .err()
                .unwrap()
                .to_string()
        };
        assert!(message("2*+/x").contains("before `/x`"), "{}", message("2*+/x"));
        assert!(message("2*(x").contains("at its end"), "{}", message("2*(x"));
        assert!(message("2*(x").ends_with("; a parenthesis is not closed"));
        assert!(message("x**2").ends_with("; a power is written with ^, as in x1^2"));
        assert!(message("0,5*x").ends_with("; numbers have a decimal point, as in 0.5"));
        assert!(message("atan2(x,2)").ends_with("is the angle atan2(y,x)"));
        assert!(message("x*(x>0)").contains("0.5+0.5*sign(f)"));
        assert!(message("(x)+").ends_with(" or + or -"), "{}", message("(x)+"));
        assert!(message("x $ 2").contains("before `$ 2`"), "{}", message("x $ 2"));
        assert!(message("z+1").contains("`z`, which is not defined; use one of x"));
        assert!(message("sin+1").contains("sin(...)"));
        assert!(message("conj(x)").contains("not a function of float data"));
        assert!(message(&format!("{}x{}", "(".repeat(1000), ")".repeat(1000))).contains("more than 100"));
        assert!(message("").contains("cannot be read"));
        Formula::<f32>::read(&vec!["x"; 100_000].join("+"), &["x".to_string()]).unwrap();
    }
}
