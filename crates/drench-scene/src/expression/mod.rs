//! Formulas in scene files: compiled once to a postfix program, evaluated without allocating.
//!
//! `0.1 * sin(tau * t)`, `if(t < 1, 0, 20 deg * noise(3 * t))`, `s = fract(2 * t); s * (1 - s)`. See [`FUNCTIONS`] for what
//! they may call. A number may carry a unit, which multiplies it to SI.

mod parse;

use drench_math::noise;
use drench_math::random::Stream;
use glam::DVec3;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// The variables that a formula may use, in the order of [`Expression::evaluate`]'s argument.
#[derive(Debug, PartialEq, Eq)]
pub struct Variables {
    /// Their names.
    pub names: &'static [&'static str],
}

/// Variables of motion: the time t [s].
pub static TIME_VARIABLES: Variables = Variables { names: &["t"] };

/// Variables of maps: position x, y, z [m] and normal nx, ny, nz in the solid's frame, texture coordinates u, v.
pub static SURFACE_VARIABLES: Variables = Variables { names: &["x", "y", "z", "nx", "ny", "nz", "u", "v"] };

/// Variables of profiles along a cord: s from 0 at its start to 1 at its end.
pub static ALONG_VARIABLES: Variables = Variables { names: &["s"] };

/// A compiled formula. Two are equal if their texts and variables are.
#[derive(Clone)]
pub struct Expression(Arc<Compiled>);

struct Compiled {
    source: String,
    variables: &'static Variables,
    program: Vec<Operation>,
}

/// The most intermediate values at once; formulas that need more are refused when compiled.
const STACK: usize = 32;
/// The most names that a formula may give to values of its own.
const LOCALS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operation {
    Constant(f64),
    Variable(u8),
    /// Takes a value off the stack and keeps it under a number.
    Store(u8),
    /// A value that was kept.
    Local(u8),
    Negate,
    Not,
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
    Call(Function),
}

/// A function that formulas may call.
#[derive(Clone, Copy)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Names of its arguments.
    pub arguments: &'static [&'static str],
    /// What it gives.
    pub doc: &'static str,
    apply: fn(&[f64]) -> f64,
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.arguments == other.arguments
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

macro_rules! functions {
    ($($name:literal ($($argument:ident),+) = $value:expr, $doc:literal;)*) => {
        &[$( Function {
            name: $name,
            arguments: &[$(stringify!($argument)),+],
            doc: $doc,
            apply: |arguments| match *arguments {
                [$($argument),+] => $value,
                _ => f64::NAN,
            },
        } ),*]
    };
}

/// Everything that formulas may call.
pub const FUNCTIONS: &[Function] = functions! {
    "sin"(a) = a.sin(), "sine of an angle [rad]";
    "cos"(a) = a.cos(), "cosine of an angle [rad]";
    "tan"(a) = a.tan(), "tangent of an angle [rad]";
    "asin"(x) = x.asin(), "angle whose sine is x [rad]";
    "acos"(x) = x.acos(), "angle whose cosine is x [rad]";
    "atan2"(y, x) = y.atan2(x), "angle of the point (x, y) [rad]";
    "exp"(x) = x.exp(), "e to the power x";
    "ln"(x) = x.ln(), "natural logarithm";
    "sqrt"(x) = x.sqrt(), "square root";
    "abs"(x) = x.abs(), "size without sign";
    "sign"(x) = f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)), "-1, 0 or 1";
    "floor"(x) = x.floor(), "largest whole number not above x";
    "fract"(x) = x - x.floor(), "what floor leaves";
    "mod"(x, period) = x - period * (x / period).floor(), "x folded into 0 .. period";
    "min"(a, b) = a.min(b), "the smaller";
    "max"(a, b) = a.max(b), "the larger";
    "clamp"(x, low, high) = x.max(low).min(high), "x kept between low and high";
    "mix"(a, b, s) = a + (b - a) * s, "a where s = 0, b where s = 1";
    "step"(edge, x) = f64::from(u8::from(x >= edge)), "0 below the edge, 1 above";
    "smoothstep"(from, to, x) = smoothstep(from, to, x), "0 below from, 1 above to, smooth between";
    "pulse"(from, to, x) = f64::from(u8::from(x >= from && x < to)), "1 between from and to, 0 elsewhere";
    "bump"(from, to, x) = bump(from, to, x), "0 outside from .. to, rising smoothly to 1 halfway";
    "noise"(x) = noise_at(DVec3::new(x, 0.5, 0.5)), "smooth noise, about -1 to 1, one feature per unit";
    "noise"(x, y, z) = noise_at(DVec3::new(x, y, z)), "smooth noise in space";
    "if"(condition, yes, no) = if condition != 0.0 { yes } else { no }, "yes if the condition holds, otherwise no";
};

fn smoothstep(from: f64, to: f64, x: f64) -> f64 {
    let s = if from == to { f64::from(u8::from(x >= to)) } else { ((x - from) / (to - from)).clamp(0.0, 1.0) };
    s * s * (3.0 - 2.0 * s)
}

fn bump(from: f64, to: f64, x: f64) -> f64 {
    let s = ((x - from) / (to - from)).clamp(0.0, 1.0);
    (std::f64::consts::PI * s).sin().powi(2)
}

/// The noise of formulas does not depend on the run's seed: a motion is part of the scene, not of chance.
fn noise_at(p: DVec3) -> f64 {
    static STREAM: LazyLock<Stream> = LazyLock::new(|| Stream::new(0, "expression noise"));
    // Past this size neighbouring numbers are further apart than features.
    if p.abs().max_element() < 1e12 { noise::gradient(*STREAM, p) } else { f64::NAN }
}

/// A formula that gave something that is no number.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("the expression `{source_text}` gives {value} at {place}")]
pub struct NotFinite {
    /// The formula.
    pub source_text: String,
    /// What it gave.
    pub value: f64,
    /// The variables' values, as text.
    pub place: String,
}

impl Expression {
    /// Compiles a formula, or says what is wrong with it.
    pub fn new(source: &str, variables: &'static Variables) -> Result<Self, String> {
        Self::compile(source, variables).map_err(|error| match error.help.as_str() {
            "" => error.message,
            help => format!("{}; {help}", error.message),
        })
    }

    pub(crate) fn compile(source: &str, variables: &'static Variables) -> Result<Self, crate::units::TextError> {
        let program = parse::parse(source, variables)?;
        Ok(Self(Arc::new(Compiled { source: source.into(), variables, program })))
    }

    pub(crate) fn zero(variables: &'static Variables) -> Self {
        Self(Arc::new(Compiled { source: "0".into(), variables, program: vec![Operation::Constant(0.0)] }))
    }

    /// The formula as it was written.
    pub fn source(&self) -> &str {
        &self.0.source
    }

    /// Its value, for the variables' values in their order. NaN where it has none; missing variables are NaN.
    pub fn evaluate(&self, variables: &[f64]) -> f64 {
        let mut stack = [0.0; STACK];
        let mut locals = [0.0; LOCALS];
        let mut top = 0;
        for operation in &self.0.program {
            let truth = |condition: bool| f64::from(u8::from(condition));
            let (taken, value) = match *operation {
                Operation::Constant(value) => (0, value),
                Operation::Variable(index) => (0, variables.get(usize::from(index)).copied().unwrap_or(f64::NAN)),
                Operation::Store(index) => {
                    top -= 1;
                    locals[usize::from(index)] = stack[top];
                    continue;
                }
                Operation::Local(index) => (0, locals[usize::from(index)]),
                Operation::Negate => (1, -stack[top - 1]),
                Operation::Not => (1, truth(stack[top - 1] == 0.0)),
                Operation::Call(function) => {
                    let taken = function.arguments.len();
                    (taken, (function.apply)(&stack[top - taken..top]))
                }
                binary => {
                    let (a, b) = (stack[top - 2], stack[top - 1]);
                    let value = match binary {
                        Operation::Add => a + b,
                        Operation::Subtract => a - b,
                        Operation::Multiply => a * b,
                        Operation::Divide => a / b,
                        Operation::Power => a.powf(b),
                        Operation::Less => truth(a < b),
                        Operation::LessEqual => truth(a <= b),
                        Operation::Greater => truth(a > b),
                        Operation::GreaterEqual => truth(a >= b),
                        Operation::Equal => truth(a == b),
                        Operation::NotEqual => truth(a != b),
                        Operation::And => truth(a != 0.0 && b != 0.0),
                        _ => truth(a != 0.0 || b != 0.0),
                    };
                    (2, value)
                }
            };
            top = top - taken + 1;
            stack[top - 1] = value;
        }
        stack[0]
    }

    /// Its value, or where it has none.
    pub fn evaluate_finite(&self, variables: &[f64]) -> Result<f64, NotFinite> {
        let value = self.evaluate(variables);
        if value.is_finite() {
            return Ok(value);
        }
        let place = self.0.variables.names.iter().zip(variables).map(|(name, value)| format!("{name} = {value}"));
        let place = place.collect::<Vec<_>>().join(", ");
        Err(NotFinite { source_text: self.0.source.clone(), value, place })
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.0.source == other.0.source && self.0.variables == other.0.variables
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({:?})", self.source())
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(source: &str, t: f64) -> f64 {
        Expression::new(source, &TIME_VARIABLES).unwrap_or_else(|error| panic!("{source}: {error}")).evaluate(&[t])
    }

    #[test]
    fn formulas_follow_the_rules_of_arithmetic() {
        for (source, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("-2 ^ 2", -4.0),
            ("2 ^ -1", 0.5),
            ("8 / 4 / 2", 1.0),
            ("5 - 3 - 1", 1.0),
            ("--t", 2.0),
            ("1 < 2", 1.0),
            ("1 + 1 >= 3 || t == 2", 1.0),
            ("!(t != 2) && 1", 1.0),
            ("if(t > 1, 10, 20)", 10.0),
            ("mod(-1, 3)", 2.0),
            ("clamp(t, 0, 1)", 1.0),
            ("smoothstep(1, 3, t)", 0.5),
            ("pulse(1, 2, t)", 0.0),
            ("bump(1, 3, t)", 1.0),
            ("sin(pi / 2) + cos(tau)", 2.0),
            ("180 deg - pi", 0.0),
            ("20deg / deg", f64::NAN),
            ("25cm", 0.25),
            ("2 cm * t", 0.04),
            ("1e-3 * t", 2e-3),
            ("sqrt(-1)", f64::NAN),
            ("sign(-t)", -1.0),
            ("s = t / 4; s * (1 - s)", 0.25),
            ("a = 3; b = a + t; a = b * 2; a - b", 5.0),
        ] {
            if expected.is_nan() && source.contains("deg") {
                assert!(Expression::new(source, &TIME_VARIABLES).is_err(), "{source}");
                continue;
            }
            let got = at(source, 2.0);
            assert!((got - expected).abs() < 1e-12 || (got.is_nan() && expected.is_nan()), "{source}: {got}");
        }
    }

    #[test]
    fn errors_point_into_the_formula() {
        for (source, span, words) in [
            ("1 + foo", 4..7, "unknown"),
            ("sinn(t)", 0..4, "`sin`"),
            ("sin(t, t)", 0..3, "argument"),
            ("1 +", 3..3, "ends"),
            ("(1", 2..2, "ends"),
            ("1 $ 2", 2..3, "$"),
            ("1 2", 2..3, "operator"),
            ("x", 0..1, "unknown"),
            ("2 t", 2..3, "operator"),
            ("1 )", 2..3, ")"),
            ("", 0..0, "ends"),
            ("t = 1; t", 0..1, "already"),
            ("a = 1;", 6..6, "ends"),
            ("a = 1", 5..5, ";"),
            ("1; 2", 1..2, ";"),
            ("b + a; a = 1", 0..1, "unknown"),
            ("a=1;b=1;c=1;d=1;f=1;g=1;h=1;i=1;j=1;j", 32..33, "8"),
        ] {
            let error = Expression::compile(source, &TIME_VARIABLES).unwrap_err();
            assert_eq!(error.span, span, "{source}: {error:?}");
            let text = format!("{} {}", error.message, error.help);
            assert!(text.contains(words), "{source}: {text}");
        }
    }

    #[test]
    fn deep_and_long_formulas_are_refused() {
        let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
        assert!(Expression::new(&deep, &TIME_VARIABLES).is_err());
        assert!(Expression::new(&"-".repeat(3000), &TIME_VARIABLES).is_err());
        assert!(Expression::new(&"1+(".repeat(40), &TIME_VARIABLES).is_err());
        assert!(Expression::new(&"1+".repeat(100_000), &TIME_VARIABLES).is_err());
        let many = "1+(1+(1+(1+(1+(1+(1+(1+1)))))))";
        assert_eq!(at(many, 0.0), 9.0);
    }

    #[test]
    fn what_is_no_number_is_reported_with_its_place() {
        let expression = Expression::new("1 / t", &TIME_VARIABLES).unwrap();
        assert_eq!(expression.evaluate_finite(&[2.0]), Ok(0.5));
        let error = expression.evaluate_finite(&[0.0]).unwrap_err();
        assert_eq!(error.to_string(), "the expression `1 / t` gives inf at t = 0");
    }

    #[test]
    fn noise_is_smooth() {
        let noise = Expression::new("noise(3 * t)", &TIME_VARIABLES).unwrap();
        for i in 0..1000 {
            let t = f64::from(i) * 0.01;
            assert!((noise.evaluate(&[t + 1e-5]) - noise.evaluate(&[t])).abs() < 1e-3);
        }
    }
}
