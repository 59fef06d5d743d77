//! Number types and operators of formulas, which are evaluated one block at a time.

use std::borrow::Cow;
use std::ops::{Add, Div, Mul, Neg, Sub};

use num_complex::Complex32;
use rsf_io::Element;

/// Values of a variable or of a part of a formula for a block of elements.
#[derive(Clone)]
pub enum Column<'a, T: Clone> {
    /// The same value for all elements.
    One(T),
    /// A value for each element.
    Many(Cow<'a, [T]>),
}

impl<'a, T: Copy> Column<'a, T> {
    /// Applies a function to every value.
    pub fn map(self, function: impl Fn(T) -> T) -> Self {
        match self {
            Self::One(value) => Self::One(function(value)),
            Self::Many(values) => {
                let mut values = values.into_owned();
                values.iter_mut().for_each(|value| *value = function(*value));
                Self::Many(values.into())
            }
        }
    }

    /// Applies a function to every pair of values.
    pub fn join(self, other: Self, function: impl Fn(T, T) -> T) -> Self {
        match (self, other) {
            (left, Self::One(right)) => left.map(|left| function(left, right)),
            (Self::One(left), right) => right.map(|right| function(left, right)),
            (Self::Many(left), Self::Many(right)) => {
                let mut values = left.into_owned();
                let pairs = values.iter_mut().zip(right.iter());
                pairs.for_each(|(value, right)| *value = function(*value, *right));
                Self::Many(values.into())
            }
        }
    }
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `^`
    Power,
    /// `&`: the angle of the point whose ordinate is the left operand and whose abscissa is the right operand.
    Angle,
}

impl Operator {
    /// The operator with this sign in the grammar.
    pub fn named(sign: &str) -> Self {
        match sign {
            "+" => Self::Add,
            "-" => Self::Subtract,
            "*" => Self::Multiply,
            "/" => Self::Divide,
            "&" => Self::Angle,
            _ => Self::Power,
        }
    }

    /// Applies the operator to two columns. It is chosen once for a block, which keeps the loops simple.
    pub fn apply<'a, T: Number>(self, left: Column<'a, T>, right: Column<'a, T>) -> Column<'a, T> {
        match self {
            Self::Add => left.join(right, |a, b| a + b),
            Self::Subtract => left.join(right, |a, b| a - b),
            Self::Multiply => left.join(right, |a, b| a * b),
            Self::Divide => left.join(right, |a, b| a / b),
            Self::Angle => left.join(right, T::angle),
            Self::Power => match right {
                // The square is by far the most frequent power, and a product is much faster.
                Column::One(two) if two == T::from_real(2.0) => left.map(|a| a * a),
                right => left.join(right, T::power),
            },
        }
    }
}

/// A number type of formulas.
pub trait Number:
    Copy
    + PartialEq
    + Send
    + Sync
    + bytemuck::Pod
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// The element type of datasets, with the same bytes.
    type Stored: Element;
    /// The name of the type.
    const WORD: &'static str;
    /// Names of the functions of one argument.
    const FUNCTIONS: &'static [&'static str];
    /// Whether the operator `&` (the angle of a point, atan2) is defined.
    const KNOWS_ANGLES: bool;
    /// The value of the variable `I`, the imaginary unit; real numbers have no imaginary unit.
    const IMAGINARY: Option<Self>;
    /// Converts a real number.
    fn from_real(value: f64) -> Self;
    /// The function with that name.
    fn function(name: &str) -> Option<fn(Self) -> Self>;
    /// `self` to the power of `exponent`.
    fn power(self, exponent: Self) -> Self;
    /// The angle of the point with ordinate `self`.
    fn angle(self, abscissa: Self) -> Self;
    /// Whether the number is neither infinite nor NaN.
    fn is_finite(&self) -> bool;
    /// Whether the number is NaN.
    fn is_nan(&self) -> bool;
}

/// Implements [`Number`] for a type of real numbers.
macro_rules! real {
    ($real:ident, $word:literal, $erf:path, $erfc:path) => {
        impl Number for $real {
            type Stored = $real;
            const WORD: &'static str = $word;
            const FUNCTIONS: &'static [&'static str] = &[
                "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "erfc",
                "exp", "int", "log", "round", "sign", "sin", "sinh", "sqrt", "tan", "tanh",
            ];
            const KNOWS_ANGLES: bool = true;
            const IMAGINARY: Option<Self> = None;

            fn from_real(value: f64) -> Self {
                value as $real
            }

            fn function(name: &str) -> Option<fn($real) -> $real> {
                Some(match name {
                    "abs" => $real::abs,
                    "acos" => $real::acos,
                    "acosh" => $real::acosh,
                    "asin" => $real::asin,
                    "asinh" => $real::asinh,
                    "atan" => $real::atan,
                    "atanh" => $real::atanh,
                    "cos" => $real::cos,
                    "cosh" => $real::cosh,
                    "erf" => $erf,
                    "erfc" => $erfc,
                    "exp" => $real::exp,
                    "int" => $real::trunc,
                    "log" => $real::ln,
                    "round" => $real::round,
                    "sign" => |value| if value >= 0.0 { 1.0 } else { -1.0 },
                    "sin" => $real::sin,
                    "sinh" => $real::sinh,
                    "sqrt" => $real::sqrt,
                    "tan" => $real::tan,
                    "tanh" => $real::tanh,
                    _ => return None,
                })
            }

            fn power(self, exponent: $real) -> $real {
                self.powf(exponent)
            }

            fn angle(self, abscissa: $real) -> $real {
                self.atan2(abscissa)
            }

            fn is_finite(&self) -> bool {
                $real::is_finite(*self)
            }

            fn is_nan(&self) -> bool {
                $real::is_nan(*self)
            }
        }
    };
}

real!(f32, "float", libm::erff, libm::erfcf);
real!(f64, "double", libm::erf, libm::erfc);

impl Number for Complex32 {
    type Stored = rsf_io::Complex;
    const WORD: &'static str = "complex";
    const FUNCTIONS: &'static [&'static str] = &[
        "abs", "acos", "acosh", "arg", "asin", "asinh", "atan", "atanh", "conj", "cos", "cosh", "exp",
        "imag", "log", "real", "sin", "sinh", "sqrt", "tan", "tanh",
    ];
    const KNOWS_ANGLES: bool = false;
    const IMAGINARY: Option<Self> = Some(Complex32::I);

    fn from_real(value: f64) -> Self {
        (value as f32).into()
    }

    fn function(name: &str) -> Option<fn(Self) -> Self> {
        Some(match name {
            "abs" => |value| value.norm().into(),
            "acos" => |value| value.acos(),
            "acosh" => |value| value.acosh(),
            "arg" => |value| value.arg().into(),
            "asin" => |value| value.asin(),
            "asinh" => |value| value.asinh(),
            "atan" => |value| value.atan(),
            "atanh" => |value| value.atanh(),
            "conj" => |value| value.conj(),
            "cos" => |value| value.cos(),
            "cosh" => |value| value.cosh(),
            "exp" => |value| value.exp(),
            "imag" => |value| value.im.into(),
            "log" => |value| value.ln(),
            "real" => |value| value.re.into(),
            "sin" => |value| value.sin(),
            "sinh" => |value| value.sinh(),
            "sqrt" => |value| value.sqrt(),
            "tan" => |value| value.tan(),
            "tanh" => |value| value.tanh(),
            _ => return None,
        })
    }

    fn power(self, exponent: Self) -> Self {
        let Complex32 { re, im } = exponent;
        match (im == 0.0, re.fract() == 0.0 && re.abs() <= 64.0) {
            (true, true) => self.powi(re as i32),
            (true, false) => self.powf(re),
            (false, _) => self.powc(exponent),
        }
    }

    fn angle(self, _: Self) -> Self {
        self
    }

    fn is_finite(&self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }

    fn is_nan(&self) -> bool {
        self.re.is_nan() || self.im.is_nan()
    }
}
