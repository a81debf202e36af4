namespace Weir.Lab;

/// <summary>Asks whether a file can be written, before minutes of measuring and not after.</summary>
internal static class WritableFile
{
    /// <summary>Makes sure that a file can be written, and leaves the one that is there as it is.</summary>
    /// <param name="path">The file, in a folder that exists.</param>
    /// <exception cref="IOException">It cannot be written.</exception>
    /// <exception cref="UnauthorizedAccessException">It may not be written.</exception>
    public static void Check(string path)
    {
        bool isNew = !File.Exists(path);
        File.Open(path, FileMode.OpenOrCreate, FileAccess.Write).Dispose();
        if (isNew)
        {
            File.Delete(path);
        }
    }
}
