//! The `drench` command.
fn main() {}
