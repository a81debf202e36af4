namespace Weir.Cli.Kit.Pages;

/// <summary>A run that makes a page of results. It reads the machine's noise when it is made, so make it right before the first measurement.</summary>
/// <param name="page">The page's file; <see langword="null"/> for none.</param>
/// <param name="output">Where the text goes as well.</param>
internal sealed class PageRun(FileInfo? page, TextWriter output)
{
    private readonly double _noiseBefore = Surroundings.Noise();

    /// <summary>The page as it is; empty for a new one.</summary>
    public string Existing => PageFile.Read(page);

    /// <summary>Where the figures come from. The machine's noise is read for the second time.</summary>
    public string Provenance(string extent) => Surroundings.Provenance(Surroundings.Commit(), "", _noiseBefore, Surroundings.Noise(), extent);

    /// <summary>Writes the page.</summary>
    public async Task WriteAsync(string text)
    {
        await output.WriteLineAsync(text);
        if (page is not null)
        {
            await File.WriteAllTextAsync(page.FullName, text, CancellationToken.None);
        }
    }
}
