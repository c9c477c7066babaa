//! Numbers with units: "25 cm", "1.3 g/cm3", "0 -9.81 0 m/s2". A plain number is SI.
//!
//! A unit is a product of powers of symbols, each with an optional SI prefix; what comes out is a factor to SI and the
//! exponents of length, mass, time and angle. Angle counts as a dimension so that degrees are not taken for a ratio.

use crate::diagnostics::{nearest, suggestion};
use std::ops::Range;

/// Exponents of metre, kilogram, second and radian.
pub(crate) type Exponents = [i8; 4];

/// A kind of quantity that a key can ask for.
#[derive(Debug)]
pub(crate) struct Measure {
    pub name: &'static str,
    /// SI unit; empty for a plain number.
    pub unit: &'static str,
    pub exponents: Exponents,
    /// Two ways to write one.
    pub examples: &'static str,
}

macro_rules! measures {
    ($($constant:ident = $name:literal, $unit:literal, $exponents:expr, $examples:literal;)*) => {
        $(pub(crate) const $constant: &Measure =
            &Measure { name: $name, unit: $unit, exponents: $exponents, examples: $examples };)*
        const MEASURES: &[&Measure] = &[$($constant),*];
    };
}

measures! {
    RATIO = "plain number", "", [0, 0, 0, 0], r#"0.5 or "50 %""#;
    LENGTH = "length", "m", [1, 0, 0, 0], r#""25 cm", "35 um" or 0.25 (metres)"#;
    MASS = "mass", "kg", [0, 1, 0, 0], r#""18 g" or 0.018 (kilograms)"#;
    TIME = "time", "s", [0, 0, 1, 0], r#""10 ms" or 0.01 (seconds)"#;
    ANGLE = "angle", "rad", [0, 0, 0, 1], r#""20 deg", "0.5 turn" or 0.35 (radians)"#;
    RATE = "rate", "1/s", [0, 0, -1, 0], r#""24 fps", "2 Hz" or 24 (per second)"#;
    ANGULAR_VELOCITY = "angular velocity", "rad/s", [0, 0, -1, 1], r#""2 turn/s""#;
    VELOCITY = "velocity", "m/s", [1, 0, -1, 0], r#""2 m/s", "40 km/h" or 2 (metres per second)"#;
    ACCELERATION = "acceleration", "m/s2", [1, 0, -2, 0], r#""9.81 m/s2" or 9.81"#;
    AREA = "area", "m2", [2, 0, 0, 0], r#""3 cm2""#;
    VOLUME = "volume", "m3", [3, 0, 0, 0], r#""2 l""#;
    DENSITY = "density", "kg/m3", [-3, 1, 0, 0], r#""1.3 g/cm3" or 1300 (kilograms per cubic metre)"#;
    FORCE = "force", "N", [1, 1, -2, 0], r#""3 mN""#;
    PRESSURE = "pressure", "Pa", [-1, 1, -2, 0], r#""3.9 GPa" or 3.9e9 (pascals)"#;
    VISCOSITY = "viscosity", "Pa s", [-1, 1, -1, 0], r#""18 uPa s" or 1.8e-5"#;
    DIFFUSIVITY = "diffusivity", "m2/s", [2, 0, -1, 0], r#""2 cm2/s" or 2e-4"#;
    SURFACE_TENSION = "surface tension", "N/m", [0, 1, -2, 0], r#""72 mN/m" or 0.072"#;
    ENERGY = "energy", "J", [2, 1, -2, 0], r#""2 mJ""#;
    POWER = "power", "W", [2, 1, -3, 0], r#""60 W" or 60 (watts)"#;
}

impl Measure {
    /// "a length", "an angle".
    pub fn with_article(&self) -> String {
        let article = if self.name.starts_with(['a', 'e']) { "an" } else { "a" };
        format!("{article} {}", self.name)
    }
}

/// What exponents mean, in words.
fn wording(exponents: Exponents) -> String {
    match MEASURES.iter().find(|measure| measure.exponents == exponents) {
        Some(measure) => measure.with_article(),
        None => {
            let powers = ["m", "kg", "s", "rad"].iter().zip(exponents).filter(|(_, power)| *power != 0);
            powers
                .map(|(unit, power)| if power == 1 { unit.to_string() } else { format!("{unit}^{power}") })
                .collect::<Vec<_>>()
                .join(" ")
        }
    }
}

struct Symbol {
    name: &'static str,
    factor: f64,
    exponents: Exponents,
    prefixes: bool,
}

const fn symbol(name: &'static str, factor: f64, exponents: Exponents, prefixes: bool) -> Symbol {
    Symbol { name, factor, exponents, prefixes }
}

const DEGREE: f64 = std::f64::consts::PI / 180.0;

const SYMBOLS: &[Symbol] = &[
    symbol("m", 1.0, [1, 0, 0, 0], true),
    symbol("g", 1e-3, [0, 1, 0, 0], true),
    symbol("s", 1.0, [0, 0, 1, 0], true),
    symbol("rad", 1.0, [0, 0, 0, 1], true),
    symbol("N", 1.0, [1, 1, -2, 0], true),
    symbol("Pa", 1.0, [-1, 1, -2, 0], true),
    symbol("J", 1.0, [2, 1, -2, 0], true),
    symbol("W", 1.0, [2, 1, -3, 0], true),
    symbol("Hz", 1.0, [0, 0, -1, 0], true),
    symbol("l", 1e-3, [3, 0, 0, 0], true),
    symbol("L", 1e-3, [3, 0, 0, 0], true),
    symbol("t", 1e3, [0, 1, 0, 0], false),
    symbol("in", 0.0254, [1, 0, 0, 0], false),
    symbol("ft", 0.3048, [1, 0, 0, 0], false),
    symbol("min", 60.0, [0, 0, 1, 0], false),
    symbol("h", 3600.0, [0, 0, 1, 0], false),
    symbol("fps", 1.0, [0, 0, -1, 0], false),
    symbol("deg", DEGREE, [0, 0, 0, 1], false),
    symbol("°", DEGREE, [0, 0, 0, 1], false),
    symbol("turn", std::f64::consts::TAU, [0, 0, 0, 1], false),
    symbol("rpm", std::f64::consts::TAU / 60.0, [0, 0, -1, 1], false),
    symbol("%", 1e-2, [0, 0, 0, 0], false),
    symbol("1", 1.0, [0, 0, 0, 0], false),
];

const PREFIXES: &[(&str, i32)] = &[
    ("n", -9),
    ("u", -6),
    ("µ", -6), // micro sign
    ("μ", -6), // Greek mu
    ("m", -3),
    ("c", -2),
    ("d", -1),
    ("h", 2),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
];

/// Names that people write, for suggestions.
const COMMON: &[&str] = &[
    "m", "cm", "mm", "um", "km", "kg", "g", "mg", "s", "ms", "rad", "deg", "turn", "fps", "Hz", "N", "Pa", "kPa",
    "MPa", "GPa", "J", "W", "l", "min", "in", "ft", "%",
];

/// What is wrong with a text, and where in it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TextError {
    pub message: String,
    pub help: String,
    pub span: Range<usize>,
}

/// A unit as a factor to SI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unit {
    /// Multiplied, and then divided by `divisor`: 1e-2 has no exact binary form, so "25 cm" is 25 / 100, which rounds once.
    pub factor: f64,
    pub divisor: f64,
    pub exponents: Exponents,
}

impl Unit {
    pub fn apply(&self, value: f64) -> f64 {
        value * self.factor / self.divisor
    }
}

/// Factor and exponents of one symbol with its prefix.
pub(crate) fn lookup(name: &str) -> Option<Unit> {
    let find = |name: &str| SYMBOLS.iter().find(|symbol| symbol.name == name);
    let unit = |symbol: &Symbol, power: i32| {
        let (factor, divisor) = match symbol.factor {
            // Decimal fractions become exact divisors.
            1e-3 => (1.0, 1e3),
            1e-2 => (1.0, 1e2),
            factor => (factor, 1.0),
        };
        let scale = 10f64.powi(power.abs());
        let (factor, divisor) = if power < 0 { (factor, divisor * scale) } else { (factor * scale, divisor) };
        // kg must be exactly 1.
        let common = factor.min(divisor);
        let (factor, divisor) = if symbol.prefixes { (factor / common, divisor / common) } else { (factor, divisor) };
        Unit { factor, divisor, exponents: symbol.exponents }
    };
    if let Some(symbol) = find(name) {
        return Some(unit(symbol, 0));
    }
    PREFIXES.iter().find_map(|(prefix, power)| {
        let symbol = find(name.strip_prefix(prefix)?).filter(|symbol| symbol.prefixes)?;
        Some(unit(symbol, *power))
    })
}

/// Reads a unit that begins at `offset` of a larger text.
fn parse_unit(text: &str, offset: usize) -> Result<Unit, TextError> {
    let fail = |span: Range<usize>, message: String, help: String| {
        Err(TextError { message, help, span: offset + span.start..offset + span.end })
    };
    let mut unit = Unit { factor: 1.0, divisor: 1.0, exponents: [0; 4] };
    let mut at = 0;
    let mut dividing = false;
    let mut operator = true; // whether the last thing read was an operator (or the start)
    while let Some(character) = text[at..].chars().next() {
        let width = character.len_utf8();
        match character {
            ' ' | '\t' => at += width,
            '*' | '·' | '/' if !operator || (character == '/' && at == 0) => {
                dividing = character == '/';
                operator = true;
                at += width;
            }
            _ => {
                let end = text[at..]
                    .find(|c: char| !(c.is_alphabetic() || matches!(c, '%' | '°')))
                    .map_or(text.len(), |length| at + length);
                // "1/s": the one stands for nothing.
                let end = if end == at && character == '1' { at + 1 } else { end };
                let name = &text[at..end];
                if name.is_empty() {
                    return fail(at..at + width, format!("`{character}` is not part of a unit"), UNIT_HELP.into());
                }
                let Some(symbol) = lookup(name) else {
                    let help = match nearest(name, COMMON.iter().copied()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => suggestion(name, COMMON.iter().copied()),
                    };
                    return fail(at..end, format!("unknown unit `{name}`"), help);
                };
                let (power, length) = parse_power(&text[end..]);
                let Some(power) = power else {
                    return fail(at..end + length, "unreadable power of a unit".into(), UNIT_HELP.into());
                };
                let power = if dividing { -power } else { power };
                for (sum, exponent) in unit.exponents.iter_mut().zip(symbol.exponents) {
                    *sum = sum.saturating_add(exponent.saturating_mul(power));
                }
                let (up, down) =
                    (symbol.factor.powi(i32::from(power).abs()), symbol.divisor.powi(i32::from(power).abs()));
                let (up, down) = if power < 0 { (down, up) } else { (up, down) };
                unit.factor *= up;
                unit.divisor *= down;
                (dividing, operator) = (false, false);
                at = end + length;
            }
        }
    }
    if operator && !text.trim().is_empty() {
        return fail(0..text.len(), "the unit ends with an operator".into(), UNIT_HELP.into());
    }
    // 1e-3 of a kilogram over 1e-6 of a cubic metre: cancel what cancels exactly.
    let common = unit.factor.min(unit.divisor);
    if unit.factor % common == 0.0 && unit.divisor % common == 0.0 {
        unit.factor /= common;
        unit.divisor /= common;
    }
    Ok(unit)
}

const UNIT_HELP: &str = "units look like cm, m/s2, g/cm3, 1/s or Pa s";

/// A power behind a symbol: "2", "^2", "-1", "²"; none means one. Gives the bytes that it took.
fn parse_power(text: &str) -> (Option<i8>, usize) {
    for (sign, power) in [("²", 2), ("³", 3)] {
        if text.starts_with(sign) {
            return (Some(power), sign.len());
        }
    }
    let caret = usize::from(text.starts_with('^'));
    let minus = usize::from(text[caret..].starts_with('-'));
    let digits = text[caret + minus..].bytes().take_while(u8::is_ascii_digit).count();
    let length = caret + minus + digits;
    match (digits, caret + minus) {
        (0, 0) => (Some(1), 0),
        _ => (text[caret..length].parse::<i8>().ok().filter(|power| (1..=9).contains(&power.abs())), length),
    }
}

/// Bytes of the number at the start of `text`: sign, digits, fraction, exponent.
pub(crate) fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(at);
    at += whole;
    let mut fraction = 0;
    if bytes.get(at) == Some(&b'.') {
        fraction = digits(at + 1);
        at += 1 + fraction;
    }
    if whole + fraction == 0 {
        return 0;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = if bytes.len() > at + 1 + sign { digits(at + 1 + sign) } else { 0 };
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    at
}

/// Reads N numbers that share one unit, in SI.
pub(crate) fn parse<const N: usize>(text: &str, measure: &Measure) -> Result<[f64; N], TextError> {
    let mut values = [0.0; N];
    let mut at = 0;
    let skip = |at: usize| at + text[at..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t' | b',')).count();
    for value in &mut values {
        at = skip(at);
        let length = number_length(&text[at..]);
        let number = text[at..at + length].parse::<f64>().ok().filter(|number| number.is_finite());
        *value = number.ok_or_else(|| {
            let what = if N == 1 { "a number".into() } else { format!("{N} numbers") };
            TextError {
                message: format!("expected {what} with the unit of {}", measure.with_article()),
                help: format!("write {}", measure.examples),
                span: at..text.len(),
            }
        })?;
        at += length;
    }
    at = skip(at);
    let unit = parse_unit(&text[at..], at)?;
    let bare = text[at..].trim().is_empty(); // "5" is as SI as 5
    if !bare && unit.exponents != measure.exponents {
        return Err(TextError {
            message: format!(
                "expected {}, but `{}` is {}",
                measure.with_article(),
                text[at..].trim(),
                wording(unit.exponents)
            ),
            help: format!("write {}", measure.examples),
            span: at..text.len(),
        });
    }
    for value in &mut values {
        *value = unit.apply(*value);
    }
    Ok(values)
}

/// A value with the unit that people would choose, for defaults and ranges in the reference.
pub(crate) fn show(value: f64, measure: &Measure) -> String {
    let plain = crate::tree::float;
    let nice = |value: f64, unit: &str| format!("{} {unit}", plain((value * 1e6).round() / 1e6));
    match measure.name {
        _ if value == 0.0 => "0".into(),
        "length" if value.abs() < 1e-3 => nice(value * 1e6, "um"),
        "length" if value.abs() < 1e-2 => nice(value * 1e3, "mm"),
        "length" if value.abs() < 1.0 => nice(value * 1e2, "cm"),
        "angle" => nice(value / DEGREE, "deg"),
        "pressure" if value >= 1e9 => nice(value * 1e-9, "GPa"),
        "rate" => plain(value),
        _ => format!("{} {}", plain(value), measure.unit).trim_end().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str, measure: &Measure) -> Result<f64, TextError> {
        parse::<1>(text, measure).map(|[value]| value)
    }

    #[test]
    fn units_of_the_reference_page_convert_exactly() {
        for (text, measure, expected) in [
            ("25 cm", LENGTH, 0.25),
            ("25cm", LENGTH, 0.25),
            ("35 um", LENGTH, 35e-6),
            ("35 µm", LENGTH, 35e-6),
            ("35 μm", LENGTH, 35e-6),
            ("1 km", LENGTH, 1000.0),
            ("180 deg", ANGLE, std::f64::consts::PI),
            ("0.5 turn", ANGLE, std::f64::consts::PI),
            ("1.3 g/cm3", DENSITY, 1300.0),
            ("1.3 g/cm^3", DENSITY, 1300.0),
            ("1320 kg m-3", DENSITY, 1320.0),
            ("1320 kg/m³", DENSITY, 1320.0),
            ("24 fps", RATE, 24.0),
            ("3 1/s", RATE, 3.0),
            ("3 /s", RATE, 3.0),
            ("3.9 GPa", PRESSURE, 3.9e9),
            ("3.9 kN/mm2", PRESSURE, 3.9e9),
            ("-2 m/s", VELOCITY, -2.0),
            ("36 km/h", VELOCITY, 10.0),
            ("10 ms", TIME, 0.01),
            ("2 min", TIME, 120.0),
            ("18 g", MASS, 0.018),
            ("2 kg", MASS, 2.0),
            ("9.81 m/s2", ACCELERATION, 9.81),
            ("9.81 m s-2", ACCELERATION, 9.81),
            ("18 uPa s", VISCOSITY, 1.8e-5),
            ("18 uPa*s", VISCOSITY, 1.8e-5),
            ("40 %", RATIO, 0.4),
            ("1e-3 m", LENGTH, 1e-3),
            ("7", LENGTH, 7.0),
            ("2 in", LENGTH, 0.0508),
        ] {
            let got = one(text, measure).unwrap_or_else(|error| panic!("{text}: {error:?}"));
            assert!((got - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "{text}: {got} {expected}");
        }
        assert_eq!(one("25 cm", LENGTH), Ok(0.25));
        assert_eq!(one("3 mm", LENGTH), Ok(0.003));
        assert_eq!(parse::<3>("0 -9.81 0 m/s2", ACCELERATION), Ok([0.0, -9.81, 0.0]));
        assert_eq!(parse::<3>("1, 2, 3 cm", LENGTH), Ok([0.01, 0.02, 0.03]));
    }

    #[test]
    fn wrong_units_say_what_they_are() {
        let error = one("25 kg", LENGTH).unwrap_err();
        assert_eq!(error.message, "expected a length, but `kg` is a mass");
        assert!(error.help.contains("25 cm"));
        assert_eq!(error.span, 3..5);
        assert!(one("20 deg", RATIO).is_err());
        assert!(one("3 cn", LENGTH).unwrap_err().help.contains("did you mean `cm`?"));
        for text in
            ["", "cm", "1 cm cm", "1 m/", "1 m^99", "1 m//s", "1 m^", "NaN m", "inf", "1e999", "--1 m", "1 2 m", "1 é"]
        {
            assert!(one(text, LENGTH).is_err(), "{text}");
        }
        assert!(parse::<3>("1 2 m", LENGTH).is_err());
    }

    #[test]
    fn values_are_shown_in_readable_units() {
        assert_eq!(show(35e-6, LENGTH), "35 um");
        assert_eq!(show(0.25, LENGTH), "25 cm");
        assert_eq!(show(std::f64::consts::FRAC_PI_2, ANGLE), "90 deg");
        assert_eq!(show(0.3, RATIO), "0.3");
    }
}
