//! Draws the Mandelbrot set as a PNG: first in double resolution, then a filter takes the mean of
//! each square of four pixels. It shows loops over the rows of images, also of two images in step:
//! rows differ widely in cost, and there is no chunk size to choose.
//!
//! Run it: `cargo run --release --example mandelbrot [HEIGHT [FILE]]` (default: 800 mandelbrot.png)

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use purloin::{Pool, prelude::*};

/// The part of the complex plane that the image shows. Its centre is on the real axis.
const LEFT: f64 = -2.2;
const VIEW_WIDTH: f64 = 3.0;
const VIEW_HEIGHT: f64 = 2.5;

/// A point that has not escaped after so many steps counts as a member of the set.
const STEPS: u8 = 255;

fn draw<W: Worker>(mut w: W, width: usize, height: usize) -> Vec<u8> {
    let scale = VIEW_HEIGHT / height as f64;
    let mut pixels = vec![0; width * height];
    let rows = w.par(&mut pixels).chunks(width).enumerate();
    rows.for_each(|(y, row)| {
        let im = scale * (y as f64 + 0.5 - height as f64 / 2.0);
        for (x, pixel) in row.iter_mut().enumerate() {
            let re = LEFT + scale * (x as f64 + 0.5);
            *pixel = STEPS - steps_to_escape(re, im);
        }
    });
    pixels
}

/// Halves the width and the height of an image.
fn shrink<W: Worker>(mut w: W, pixels: &[u8], width: usize) -> Vec<u8> {
    let mut small = vec![0; pixels.len() / 4];
    let rows = w.par(&mut small).chunks(width / 2);
    rows.zip(pixels.into_par().chunks(2 * width))
        .for_each(|(row, two_rows)| {
            for (x, pixel) in row.iter_mut().enumerate() {
                let square = [0, 1, width, width + 1].map(|i| u16::from(two_rows[2 * x + i]));
                *pixel = (square.iter().sum::<u16>() / 4) as u8;
            }
        });
    small
}

/// Iterates z = z² + c, and returns the number of steps until |z| exceeds 2.
fn steps_to_escape(c_re: f64, c_im: f64) -> u8 {
    let (mut re, mut im) = (0.0, 0.0);
    for step in 0..STEPS {
        if re * re + im * im > 4.0 {
            return step;
        }
        (re, im) = (re * re - im * im + c_re, 2.0 * re * im + c_im);
    }
    STEPS
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let height: usize = args.next().map_or(Ok(800), |n| n.parse())?;
    let file = args.next().unwrap_or("mandelbrot.png".into());
    let width = (height as f64 * VIEW_WIDTH / VIEW_HEIGHT) as usize;

    let pixels = Pool::new()?.run(|mut w| {
        let large = w.lend(|w| draw(w, 2 * width, 2 * height));
        shrink(w, &large, 2 * width)
    });
    assert!(pixels.iter().eq(pixels.rchunks(width).flatten()));
    let output = BufWriter::new(File::create(&file)?);
    let mut encoder = png::Encoder::new(output, width.try_into()?, height.try_into()?);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header()?.write_image_data(&pixels)?;
    println!("wrote {file}: {width} x {height} pixels");
    Ok(())
}
