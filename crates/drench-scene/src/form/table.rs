//! Tables within tables.

use super::{Field, FieldDescription, Form, Kind, Presence, Reader, Section};
use crate::tree::{Data, Node, Place, Table};
use std::marker::PhantomData;

/// One table.
pub(crate) struct TableForm<T>(PhantomData<T>);

pub(crate) fn table<T: Section>() -> TableForm<T> {
    TableForm(PhantomData)
}

impl<T: Section> Form for TableForm<T> {
    type Value = T;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<T> {
        if let Some(table) = node.as_table() {
            return T::read(table, node.place, reader);
        }
        reader.error(node.place, format!("expected a table, found {}", node.wording()), "write { key = value, ... }");
        None
    }

    fn write(&self, value: &T) -> Data {
        let mut table = Table::default();
        value.write(&mut table);
        Data::Table(table)
    }

    fn kind(&self) -> Kind {
        Kind::Table(T::describe())
    }

    fn show(&self, _: &T) -> String {
        "its own defaults".into()
    }
}

/// A list of tables, `[[...]]`.
pub(crate) struct TablesForm<T> {
    most: usize,
    section: PhantomData<T>,
}

pub(crate) fn tables<T: Section>(most: usize) -> TablesForm<T> {
    TablesForm { most, section: PhantomData }
}

impl<T: Section> Form for TablesForm<T> {
    type Value = Vec<T>;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<Vec<T>> {
        let Data::List(items) = &node.data else {
            let message = format!("expected a list of tables, found {}", node.wording());
            reader.error(node.place, message, "write [[...]] with double brackets, once for each");
            return None;
        };
        if items.len() > self.most {
            reader.error(node.place, format!("{} are too many", items.len()), format!("at most {}", self.most));
            return None;
        }
        let read: Vec<_> = items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                let name = item.as_table().and_then(Table::name);
                let step = name.map_or_else(|| index.to_string(), crate::tree::shorten);
                reader.within(&step, |reader| table::<T>().read(item, reader))
            })
            .collect();
        read.into_iter().collect()
    }

    fn write(&self, value: &Vec<T>) -> Data {
        Data::list(value.iter().map(|item| table::<T>().write(item)))
    }

    fn kind(&self) -> Kind {
        Kind::Tables(T::describe())
    }

    fn show(&self, _: &Vec<T>) -> String {
        "none".into()
    }
}

/// A section whose keys stand directly in the table around it.
pub(crate) struct Flattened<T>(PhantomData<T>);

pub(crate) fn flattened<T: Section>() -> Flattened<T> {
    Flattened(PhantomData)
}

impl<T: Section> Field for Flattened<T> {
    type Value = T;

    fn read(&self, _: &'static str, around: &Table, place: Place, reader: &mut Reader) -> Option<T> {
        // Only its own keys are handed on: the rest are the outer section's to judge.
        let mut known = Vec::new();
        T::keys(around, &mut known);
        let own = around.entries.iter().filter(|entry| known.contains(&entry.key.as_str())).cloned().collect();
        T::read(&Table { entries: own, inline: around.inline }, place, reader)
    }

    fn write(&self, _: &'static str, value: &T, table: &mut Table) {
        value.write(table);
    }

    fn describe(&self, key: &'static str, doc: &'static str) -> FieldDescription {
        FieldDescription { key, doc, kind: Kind::Table(T::describe()), presence: Presence::Flattened }
    }

    fn keys(&self, _: &'static str, table: &Table, keys: &mut Vec<&'static str>) {
        T::keys(table, keys);
    }
}

/// A short form, or a table that says more.
pub(crate) struct Either<T, F: Form> {
    short: F,
    from: fn(F::Value) -> T,
    as_short: fn(&T) -> Option<F::Value>,
    section: PhantomData<T>,
}

/// A table, or a `short` form that stands for one.
pub(crate) fn either<T: Section, F: Form>(
    short: F,
    from: fn(F::Value) -> T,
    as_short: fn(&T) -> Option<F::Value>,
) -> Either<T, F> {
    Either { short, from, as_short, section: PhantomData }
}

impl<T: Section, F: Form> Form for Either<T, F> {
    type Value = T;

    fn read(&self, node: &Node, reader: &mut Reader) -> Option<T> {
        match node.data {
            Data::Table(_) => table::<T>().read(node, reader),
            _ => self.short.read(node, reader).map(self.from),
        }
    }

    fn write(&self, value: &T) -> Data {
        match (self.as_short)(value) {
            Some(short) => self.short.write(&short),
            None => table::<T>().write(value),
        }
    }

    fn kind(&self) -> Kind {
        Kind::Either(Box::new(self.short.kind()), Box::new(Kind::Table(T::describe())))
    }

    fn show(&self, value: &T) -> String {
        match (self.as_short)(value) {
            Some(short) => self.short.show(&short),
            None => "its own defaults".into(),
        }
    }
}

/// The value of a section whose keys all have defaults.
pub(crate) fn declared_default<T: Section>() -> T {
    let mut reader = Reader::new(Default::default(), false);
    T::read(&Table::default(), Place::NOWHERE, &mut reader).expect("every key of this section has a default")
}
