//! From text to postfix: a precedence climber over a hand of tokens.

use super::{FUNCTIONS, Function, LOCALS, Operation, STACK, Variables};
use crate::diagnostics::suggestion;
use crate::units::{self, TextError};
use std::ops::Range;

/// Longest text [bytes].
const LONGEST: usize = 8192;
/// Deepest nesting of brackets, calls and signs.
const DEEPEST: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'a> {
    Number(f64),
    Word(&'a str),
    Symbol(&'a str),
    End,
}

const SYMBOLS: &[&str] =
    &["<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "^", "(", ")", ",", "<", ">", "!", "=", ";"];

const CONSTANTS: &[(&str, f64)] =
    &[("pi", std::f64::consts::PI), ("tau", std::f64::consts::TAU), ("e", std::f64::consts::E)];

/// Binary operators: symbol, strength, whether it groups from the right.
const OPERATORS: &[(&str, u8, Operation)] = &[
    ("||", 1, Operation::Or),
    ("&&", 2, Operation::And),
    ("<", 3, Operation::Less),
    ("<=", 3, Operation::LessEqual),
    (">", 3, Operation::Greater),
    (">=", 3, Operation::GreaterEqual),
    ("==", 3, Operation::Equal),
    ("!=", 3, Operation::NotEqual),
    ("+", 4, Operation::Add),
    ("-", 4, Operation::Subtract),
    ("*", 5, Operation::Multiply),
    ("/", 5, Operation::Divide),
    ("^", 7, Operation::Power),
];

/// A sign binds weaker than a power, so that -2 ^ 2 is -4, and stronger than a product.
const SIGN: u8 = 6;
const POWER: u8 = 7;

pub(super) fn parse(text: &str, variables: &Variables) -> Result<Vec<Operation>, TextError> {
    if text.len() > LONGEST {
        let message = format!("the expression is {} bytes long", text.len());
        return Err(TextError { message, help: format!("at most {LONGEST} are allowed"), span: 0..0 });
    }
    let mut parser = Parser {
        text,
        at: 0,
        token: Token::End,
        span: 0..0,
        variables,
        locals: Vec::new(),
        program: Vec::new(),
        depth: 0,
        height: 0,
    };
    parser.advance()?;
    while parser.definition()? {}
    parser.binary(0)?;
    match parser.token {
        Token::End => Ok(parser.program),
        Token::Symbol(symbol @ (")" | "," | ";" | "=")) => parser.fail(format!("`{symbol}` does not belong here"), ""),
        _ => parser.fail("an operator is missing here", "write `*` to multiply"),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    token: Token<'a>,
    span: Range<usize>,
    variables: &'a Variables,
    /// Names that the formula gave to values.
    locals: Vec<&'a str>,
    program: Vec<Operation>,
    depth: usize,
    /// Values on the stack after the program so far.
    height: usize,
}

impl<'a> Parser<'a> {
    fn fail<T>(&self, message: impl Into<String>, help: impl Into<String>) -> Result<T, TextError> {
        Err(TextError { message: message.into(), help: help.into(), span: self.span.clone() })
    }

    fn advance(&mut self) -> Result<(), TextError> {
        let text = self.text;
        self.at += text[self.at..].len() - text[self.at..].trim_start().len();
        let rest = &text[self.at..];
        let letters = |text: &str| text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
        let (token, length) = match rest.chars().next() {
            None => (Token::End, 0),
            Some(c) if c.is_ascii_digit() || c == '.' => {
                let length = units::number_length(rest);
                match rest[..length].parse::<f64>() {
                    Ok(value) if length > 0 && value.is_finite() => (Token::Number(value), length),
                    _ => {
                        self.span = self.at..self.at + length.max(1);
                        return self.fail("unreadable number", "");
                    }
                }
            }
            Some(c) if c.is_alphabetic() || c == '_' => {
                let length = letters(rest);
                (Token::Word(&rest[..length]), length)
            }
            Some(c) => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => (Token::Symbol(symbol), symbol.len()),
                None => {
                    self.span = self.at..self.at + c.len_utf8();
                    return self.fail(format!("`{c}` has no meaning in an expression"), "");
                }
            },
        };
        self.token = token;
        self.span = self.at..self.at + length;
        self.at += length;
        Ok(())
    }

    fn emit(&mut self, operation: Operation) -> Result<(), TextError> {
        let taken = match operation {
            Operation::Constant(_) | Operation::Variable(_) | Operation::Local(_) => 0,
            Operation::Negate | Operation::Not => 1,
            Operation::Call(function) => function.arguments.len(),
            _ => 2,
        };
        self.height = self.height + 1 - taken;
        if self.height > STACK {
            return self.fail(format!("the expression needs more than {STACK} values at once"), "simplify it");
        }
        self.program.push(operation);
        Ok(())
    }

    /// `name = value;`, if that is what comes next.
    fn definition(&mut self) -> Result<bool, TextError> {
        let Token::Word(name) = self.token else { return Ok(false) };
        let rest = self.text[self.at..].trim_start();
        if !rest.starts_with('=') || rest.starts_with("==") {
            return Ok(false);
        }
        if self.variables.names.contains(&name) || CONSTANTS.iter().any(|(constant, _)| *constant == name) {
            return self.fail(format!("`{name}` already means something else"), "choose another name");
        }
        let known = self.locals.iter().position(|local| *local == name);
        if known.is_none() && self.locals.len() == LOCALS {
            return self.fail(format!("more than {LOCALS} names in one expression"), "simplify it");
        }
        self.advance()?;
        self.advance()?;
        self.binary(0)?;
        self.expect(";")?;
        // Named only now: a value is not known within itself.
        let index = known.unwrap_or_else(|| {
            self.locals.push(name);
            self.locals.len() - 1
        });
        self.program.push(Operation::Store(index as u8));
        self.height -= 1;
        Ok(true)
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, TextError>) -> Result<T, TextError> {
        if self.depth == DEEPEST {
            return self.fail(format!("nested more than {DEEPEST} deep"), "simplify it");
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Operators at least as strong as `least`.
    fn binary(&mut self, least: u8) -> Result<(), TextError> {
        self.nested(|parser| {
            parser.unary()?;
            while let Token::Symbol(symbol) = parser.token {
                let Some((_, strength, operation)) = OPERATORS.iter().find(|(name, ..)| *name == symbol) else { break };
                if *strength < least {
                    break;
                }
                parser.advance()?;
                // Powers group from the right, everything else from the left.
                parser.binary(if *strength == POWER { *strength } else { strength + 1 })?;
                parser.emit(*operation)?;
            }
            Ok(())
        })
    }

    fn unary(&mut self) -> Result<(), TextError> {
        let operation = match self.token {
            Token::Symbol("-") => Some(Operation::Negate),
            Token::Symbol("+") => None,
            Token::Symbol("!") => Some(Operation::Not),
            _ => return self.primary(),
        };
        self.advance()?;
        self.binary(SIGN)?;
        operation.map_or(Ok(()), |operation| self.emit(operation))
    }

    fn primary(&mut self) -> Result<(), TextError> {
        match self.token {
            Token::Number(value) => {
                self.advance()?;
                let scale = self.unit()?;
                self.emit(Operation::Constant(scale.map_or(value, |unit| unit.apply(value))))
            }
            Token::Symbol("(") => {
                self.advance()?;
                self.binary(0)?;
                self.expect(")")
            }
            Token::Word(word) => self.word(word),
            Token::End => self.fail("the expression ends too early", "a value is missing"),
            Token::Symbol(symbol) => self.fail(format!("`{symbol}` where a value should be"), ""),
        }
    }

    /// A unit right behind a number; variables are not units.
    fn unit(&mut self) -> Result<Option<units::Unit>, TextError> {
        let Token::Word(word) = self.token else { return Ok(None) };
        if self.variables.names.contains(&word) || self.locals.contains(&word) {
            return Ok(None);
        }
        let unit = units::lookup(word);
        if unit.is_some() {
            self.advance()?;
        }
        Ok(unit)
    }

    fn expect(&mut self, symbol: &str) -> Result<(), TextError> {
        match self.token {
            Token::Symbol(found) if found == symbol => self.advance(),
            Token::End => self.fail("the expression ends too early", format!("`{symbol}` is missing")),
            _ => self.fail(format!("`{symbol}` or an operator is missing here"), ""),
        }
    }

    fn word(&mut self, word: &'a str) -> Result<(), TextError> {
        let span = self.span.clone();
        let at_word = |message: String, help: String| Err(TextError { message, help, span: span.clone() });
        self.advance()?;
        if self.token != Token::Symbol("(") {
            if let Some(index) = self.variables.names.iter().position(|name| *name == word) {
                return self.emit(Operation::Variable(index as u8));
            }
            if let Some(index) = self.locals.iter().position(|name| *name == word) {
                return self.emit(Operation::Local(index as u8));
            }
            if let Some((_, value)) = CONSTANTS.iter().find(|(name, _)| *name == word) {
                return self.emit(Operation::Constant(*value));
            }
            let own = self.variables.names.iter().chain(&self.locals).copied();
            let known: Vec<_> = own.chain(CONSTANTS.iter().map(|(name, _)| *name)).collect();
            return at_word(format!("unknown variable `{}`", crate::tree::shorten(word)), suggestion(word, known));
        }
        let overloads = || FUNCTIONS.iter().filter(|function| function.name == word);
        if overloads().next().is_none() {
            let help = suggestion(word, FUNCTIONS.iter().map(|function| function.name));
            return at_word(format!("unknown function `{}`", crate::tree::shorten(word)), help);
        }
        self.advance()?;
        let mut count = 0;
        if self.token != Token::Symbol(")") {
            loop {
                self.binary(0)?;
                count += 1;
                if self.token != Token::Symbol(",") {
                    break;
                }
                self.advance()?;
            }
        }
        self.expect(")")?;
        let fits = |function: &&Function| function.arguments.len() == count;
        let Some(function) = overloads().find(fits) else {
            let forms: Vec<_> = overloads().map(|f| format!("{word}({})", f.arguments.join(", "))).collect();
            return at_word(format!("{count} arguments for `{word}`"), format!("write {}", forms.join(" or ")));
        };
        self.emit(Operation::Call(*function))
    }
}
