//! What scene files may hold, for editors and for readers: both come from the declarations in `spec`.

mod json;
mod reference;

pub use json::json_schema;
pub use reference::reference_markdown;
