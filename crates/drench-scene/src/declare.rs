//! The three ways to declare a part of the scene file. Each makes the Rust type, with its docs, and everything that
//! the file needs of it: reading, checking, writing, describing. No key stands in two places.

/// A table: `pub key: Type = form.required() | form.or(default) | form.optional()`. `as "word"` gives the key another
/// name in the file. `check` names a function that looks at the whole section once its keys are read.
macro_rules! section {
    (
        $(#[doc = $doc:literal])+
        pub struct $name:ident {
            $(
                $(#[doc = $field_doc:literal])+
                pub $field:ident $(as $key:literal)? : $type:ty = $form:expr,
            )*
        }
        $(check $check:ident)?
        $(example $example:literal)?
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( $(#[doc = $field_doc])+ pub $field: $type, )*
        }

        impl $crate::form::Section for $name {
            fn describe() -> $crate::form::Description {
                use $crate::form::Field as _;
                let fields = vec![$( $crate::form::of::<$type, _>($form).describe(
                    $crate::declare::key!($field $($key)?),
                    concat!($($field_doc, "\n"),+),
                ) ),*];
                let doc = concat!($($doc, "\n"),+);
                let body = $crate::form::Body::Fields(fields);
                $crate::form::Description { name: stringify!($name), doc, example: concat!("", $($example)?), body }
            }

            fn read(
                table: &$crate::tree::Table,
                place: $crate::tree::Place,
                reader: &mut $crate::form::Reader,
            ) -> Option<Self> {
                use $crate::form::Field as _;
                // Every key is read, and complained about, before the first failure counts.
                struct Parts { $( $field: Option<$type>, )* }
                let parts = Parts {
                    $( $field: $crate::form::of::<$type, _>($form).read($crate::declare::key!($field $($key)?), table, place, reader), )*
                };
                reader.reject_unknown::<Self>(table);
                let section = Self { $( $field: parts.$field?, )* };
                $( $check(&section, table, place, reader)?; )?
                Some(section)
            }

            fn write(&self, table: &mut $crate::tree::Table) {
                use $crate::form::Field as _;
                $( $crate::form::of::<$type, _>($form).write($crate::declare::key!($field $($key)?), &self.$field, table); )*
            }

            fn keys(table: &$crate::tree::Table, keys: &mut Vec<&'static str>) {
                use $crate::form::Field as _;
                $( $crate::form::of::<$type, _>($form).keys($crate::declare::key!($field $($key)?), table, keys); )*
            }
        }
    };
}

/// A table whose key `kind` says which of several sets of keys it holds.
macro_rules! tagged {
    (
        $(#[doc = $doc:literal])+
        pub enum $name:ident {
            $(
                $(#[doc = $variant_doc:literal])+
                $variant:ident as $word:literal $({
                    $(
                        $(#[doc = $field_doc:literal])+
                        $field:ident $(as $key:literal)? : $type:ty = $form:expr,
                    )*
                })?,
            )*
        }
        $(example $example:literal)?
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub enum $name {
            $( $(#[doc = $variant_doc])+ $variant $({ $( $(#[doc = $field_doc])+ $field: $type, )* })?, )*
        }

        impl $crate::form::Section for $name {
            fn describe() -> $crate::form::Description {
                #[allow(unused_imports)]
                use $crate::form::Field as _;
                let variants = vec![$( $crate::form::VariantDescription {
                    word: $word,
                    doc: concat!($($variant_doc, "\n"),+),
                    fields: vec![$($( $crate::form::of::<$type, _>($form).describe(
                        $crate::declare::key!($field $($key)?),
                        concat!($($field_doc, "\n"),+),
                    ) ),*)?],
                } ),*];
                let doc = concat!($($doc, "\n"),+);
                let body = $crate::form::Body::Variants(variants);
                $crate::form::Description { name: stringify!($name), doc, example: concat!("", $($example)?), body }
            }

            fn read(
                table: &$crate::tree::Table,
                place: $crate::tree::Place,
                reader: &mut $crate::form::Reader,
            ) -> Option<Self> {
                #[allow(unused_imports)]
                use $crate::form::Field as _;
                reader.reject_unknown::<Self>(table);
                const WORDS: &[&str] = &[$($word),*];
                match reader.kind_of(table, place, WORDS)? {
                    $( $word => {
                        $(
                            struct Parts { $( $field: Option<$type>, )* }
                            let parts = Parts {
                                $( $field: $crate::form::of::<$type, _>($form).read($crate::declare::key!($field $($key)?), table, place, reader), )*
                            };
                        )?
                        Some(Self::$variant $({ $( $field: parts.$field?, )* })?)
                    } )*
                    _ => None,
                }
            }

            fn write(&self, table: &mut $crate::tree::Table) {
                #[allow(unused_imports)]
                use $crate::form::Field as _;
                match self {
                    $( Self::$variant $({ $( $field: _ ),* })? => {
                        table.push("kind", $crate::tree::Data::text($word));
                        // The field's name is bound only here, so that it cannot hide a form of the same name.
                        $($( if let Some(value) = match self { Self::$variant { $field, .. } => Some($field), _ => None } {
                            $crate::form::of::<$type, _>($form).write($crate::declare::key!($field $($key)?), value, table);
                        } )*)?
                    } )*
                }
            }

            fn keys(table: &$crate::tree::Table, keys: &mut Vec<&'static str>) {
                #[allow(unused_imports)]
                use $crate::form::Field as _;
                const WORDS: &[&str] = &[$($word),*];
                keys.push("kind");
                let kind = table.get("kind").and_then($crate::tree::Node::as_text);
                // With an unknown kind every variant's keys are let through: one error is enough.
                let chosen = kind.filter(|kind| WORDS.contains(kind));
                $( if chosen.is_none_or(|kind| kind == $word) {
                    $($( $crate::form::of::<$type, _>($form)
                        .keys($crate::declare::key!($field $($key)?), table, keys); )*)?
                } )*
            }
        }
    };
}

/// A choice of words.
macro_rules! words {
    (
        $(#[doc = $doc:literal])+
        pub enum $name:ident {
            $( $(#[doc = $word_doc:literal])+ $variant:ident = $word:literal, )*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $( $(#[doc = $word_doc])+ $variant, )*
        }

        impl $crate::form::Words for $name {
            const ALL: &'static [(Self, &'static str, &'static str)] =
                &[$( (Self::$variant, $word, concat!($($word_doc),+)) ),*];
        }

        impl $name {
            /// All choices, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word that stands for it in a scene file.
            pub fn word(self) -> &'static str {
                match self {
                    $( Self::$variant => $word, )*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

/// The name of a field in the file.
macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

/// Sections whose keys all have defaults are `Default`, with the declared values.
macro_rules! defaults {
    ($($name:ty),* $(,)?) => {
        $( impl Default for $name {
            fn default() -> Self {
                $crate::form::declared_default()
            }
        } )*
    };
}

pub(crate) use {defaults, key, section, tagged, words};
