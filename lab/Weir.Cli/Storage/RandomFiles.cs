namespace Weir.Cli.Storage;

/// <summary>The files that are hashed. Missing ones are made, of random bytes, so that no device can compress them.</summary>
internal static class RandomFiles
{
    private const int Piece = 1024 * 1024;

    /// <summary>The path of a file.</summary>
    public static string PathOf(string directory, int index) => Path.Combine(directory, $"weir-{index:D5}.bin");

    /// <summary>Makes the files that are missing or have another size.</summary>
    /// <param name="directory">Where; it is made when missing.</param>
    /// <param name="files">How many.</param>
    /// <param name="size">The bytes of each.</param>
    /// <param name="made">Called after each that was made, with how many there are now.</param>
    /// <param name="stop">Stops; a file that was begun is not left behind.</param>
    /// <returns>How many had to be made.</returns>
    /// <exception cref="BadInputException">The directory cannot be used or there is no room.</exception>
    public static int Ensure(string directory, int files, long size, Action<int> made, CancellationToken stop)
    {
        try
        {
            Directory.CreateDirectory(directory);
            int[] missing = [.. Enumerable.Range(0, files).Where(i => new FileInfo(PathOf(directory, i)) is not { Exists: true } file || file.Length != size)];
            long needed = missing.Length * size;
            long free = new DriveInfo(Path.GetFullPath(directory)).AvailableFreeSpace;
            if (needed > free)
            {
                throw new BadInputException(
                    $"--input '{directory}' needs {Numbers.Bytes(needed)} for the missing files and has {Numbers.Bytes(free)} free; lower --files or --size.");
            }

            byte[] piece = new byte[Math.Min(size, Piece)];
            for (int i = 0; i < missing.Length; i++)
            {
                stop.ThrowIfCancellationRequested();
                Make(PathOf(directory, missing[i]), size, piece, stop);
                made(files - missing.Length + i + 1);
            }

            return missing.Length;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or ArgumentException)
        {
            throw new BadInputException($"--input '{directory}' cannot be used: {e.Message}");
        }
    }

    private static void Make(string path, long size, byte[] piece, CancellationToken stop)
    {
        string unfinished = path + ".part";
        try
        {
            using (FileStream stream = new(unfinished, FileMode.Create, FileAccess.Write, FileShare.None, bufferSize: 0))
            {
                for (long left = size; left > 0; left -= piece.Length)
                {
                    stop.ThrowIfCancellationRequested();
                    RandomNumberGenerator.Fill(piece);
                    stream.Write(piece, 0, (int)Math.Min(left, piece.Length));
                }

                // What is not on the device yet cannot be dropped from the page cache.
                stream.Flush(flushToDisk: true);
            }

            File.Move(unfinished, path, overwrite: true);
        }
        finally
        {
            File.Delete(unfinished);
        }
    }
}
