using Weir.Cli.Kit.Output;

namespace Weir.Cli.Kit.Pages;

/// <summary>The file that a command writes its page to.</summary>
internal static class PageFile
{
    /// <summary>Makes sure that the page can be written, before minutes of measuring and not after.</summary>
    /// <param name="page">The page; <see langword="null"/> if none was requested.</param>
    public static void Check(FileInfo? page)
    {
        if (page is null)
        {
            return;
        }

        if (Directory.Exists(page.FullName))
        {
            throw new BadInputException($"--output must be a file; {page} is a folder.");
        }

        if (page.Directory is not { Exists: true })
        {
            throw new BadInputException($"--output must be a file in a folder that exists; there is no folder {page.DirectoryName}.");
        }

        ResultOutput.CheckCanWrite(page.FullName);
    }

    /// <summary>What is in the page now: empty when there is none.</summary>
    public static string Read(FileInfo? page) => page is { Exists: true } ? File.ReadAllText(page.FullName) : "";
}
