using Weir.Lab;

namespace Weir.Cli.Kit.Pages;

/// <summary>The file that a command writes its page to.</summary>
internal static class PageFile
{
    /// <summary>
    /// Why the page cannot be written, as a sentence; <see langword="null"/> if it can, or if none was requested. Checked before minutes of measuring, not
    /// after.
    /// </summary>
    public static string? FindProblem(FileInfo? page)
    {
        if (page is null)
        {
            return null;
        }

        if (page.Directory is not { Exists: true } || Directory.Exists(page.FullName))
        {
            return Directory.Exists(page.FullName) ? $"--output must be a file; {page} is a folder."
                : $"--output must be a file in a folder that exists; there is no folder {page.DirectoryName}.";
        }

        try
        {
            WritableFile.Check(page.FullName);
            return null;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return $"--output must be a file that can be written; {e.Message}";
        }
    }

    /// <summary>What is in the page now: empty when there is none.</summary>
    public static string Read(FileInfo? page) => page is { Exists: true } ? File.ReadAllText(page.FullName) : "";
}
