//! The pictures of a run as files, and the movie made of them.

use crate::failure::Failure;
use crate::framing;
use drench_io::Frame;
use drench_render::movie::MovieWriter;
use drench_render::{Renderer, Settings, View};
use drench_scene::{Camera, Render, Scene};
use std::fs;
use std::path::{Path, PathBuf};

/// Draws frames into `images/` of a folder.
pub struct Gallery<'a> {
    scene: &'a Scene,
    camera: Option<&'a Camera>,
    /// The view of a scene without cameras, from the first frame that was seen: it must not follow what moves.
    framing: Option<View>,
    renderer: Renderer,
    folder: PathBuf,
    every: u32,
}

impl<'a> Gallery<'a> {
    /// Pictures of `scene` as `render` says, seen by a camera (the scene's first if none is named), below `folder`.
    pub fn new(scene: &'a Scene, render: &Render, camera: Option<&str>, folder: &Path) -> Result<Self, Failure> {
        let camera = match camera {
            None => scene.cameras.first(),
            Some(name) => Some(find(&scene.cameras, |camera| &camera.name, name, "camera")?),
        };
        let renderer = Renderer::new(Settings::from_scene(scene, render))?;
        let images = folder.join("images");
        fs::create_dir_all(&images).map_err(|error| storage("create", &images, &error))?;
        Ok(Self { scene, camera, framing: None, renderer, folder: folder.to_owned(), every: render.every.max(1) })
    }

    /// Whether a frame gets a picture.
    pub fn wants(&self, frame: u32) -> bool {
        frame.is_multiple_of(self.every)
    }

    /// Where the picture of a frame is.
    pub fn path(&self, frame: u32) -> PathBuf {
        self.folder.join("images").join(format!("{frame:06}.png"))
    }

    /// Whether the picture of a frame is there, and of the right size: another look may have been drawn here.
    pub fn has(&self, frame: u32) -> bool {
        let settings = self.renderer.settings();
        image::image_dimensions(self.path(frame)).is_ok_and(|size| size == (settings.width, settings.height))
    }

    /// Decides where a scene without cameras is seen from.
    pub fn look_at(&mut self, frame: &Frame) {
        if self.camera.is_none() && self.framing.is_none() {
            let settings = self.renderer.settings();
            self.framing = Some(framing::framing_view(self.scene, frame, settings.width, settings.height));
        }
    }

    /// Draws a frame. The picture appears whole or not at all.
    pub fn draw(&mut self, frame: &Frame) -> Result<(), Failure> {
        self.look_at(frame);
        let view = match (self.camera, self.framing) {
            (Some(camera), _) => View::from_scene(self.scene, camera, frame.time),
            (None, framing) => framing.unwrap_or_default(),
        };
        let picture = self.renderer.render(frame, &view)?;
        let path = self.path(frame.index);
        let temporary = path.with_extension("png.tmp");
        picture.write_png(&temporary)?;
        fs::rename(&temporary, &path).map_err(|error| storage("write", &path, &error))
    }

    /// Makes the movie of the pictures of these frames, as far as they exist. Nothing if there is none.
    pub fn movie(&self, frames: &[u32]) -> Result<Option<PathBuf>, Failure> {
        let settings = self.renderer.settings();
        let path = self.folder.join("movie.mp4");
        let rate = self.scene.simulation.fps / f64::from(self.every);
        let pictures: Vec<PathBuf> = frames
            .iter()
            .filter(|&&frame| self.wants(frame) && self.has(frame))
            .map(|&frame| self.path(frame))
            .collect();
        // A single picture is no movie, and video cannot show less than 2 x 2 pixels.
        if pictures.len() < 2 || settings.width < 2 || settings.height < 2 {
            return Ok(None);
        }
        let mut movie = MovieWriter::create(&path, settings.width, settings.height, rate.clamp(1.0, 240.0))?;
        for picture in &pictures {
            let (width, height, pixels) = read_png(picture)?;
            movie.add_srgb8(width, height, &pixels)?;
        }
        movie.finish()?;
        Ok(Some(path))
    }
}

/// The item with a name, or an error that names those there are.
pub fn find<'a, T>(items: &'a [T], name_of: impl Fn(&T) -> &String, name: &str, what: &str) -> Result<&'a T, Failure> {
    if let Some(item) = items.iter().find(|item| name_of(item) == name) {
        return Ok(item);
    }
    let names: Vec<&str> = items.iter().map(|item| name_of(item).as_str()).collect();
    let fix =
        if names.is_empty() { format!("leave --{what} out") } else { format!("choose from {}", names.join(", ")) };
    Err(Failure::Input(format!("the scene has no {what} called '{name}'\n  fix: {fix}")))
}

fn read_png(path: &Path) -> Result<(u32, u32, Vec<u8>), Failure> {
    let damaged = |error: String| {
        Failure::Input(format!(
            "{} is damaged: {error}\n  fix: remove it and make it anew with drench render",
            path.display()
        ))
    };
    let picture = image::open(path).map_err(|error| damaged(error.to_string()))?.into_rgb8();
    Ok((picture.width(), picture.height(), picture.into_raw()))
}

fn storage(action: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::Storage(format!("cannot {action} {}: {error}", path.display()))
}
