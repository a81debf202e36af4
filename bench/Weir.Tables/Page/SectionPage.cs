using Weir.Cli.Kit.Output;

namespace Weir.Tables.Page;

/// <summary>
/// A page of results in sections. All of it is generated, but for its notes, which are written by hand and kept; and a section that a run does not
/// measure is kept as it is, with the machine and commit it was measured with.
/// </summary>
/// <param name="existing">The page as it is; empty for a new one.</param>
internal sealed class SectionPage(string existing)
{
    private const string Key = "Page";

    private readonly Dictionary<string, string> _measured = PageBlocks.Read(existing, PageBlocks.Measured);
    private readonly Dictionary<string, string> _notes = PageBlocks.Read(existing, PageBlocks.Notes);

    /// <summary>Puts what was measured in the place of what was there.</summary>
    public void Replace(string key, string text) => _measured[key] = text.TrimEnd('\n');

    /// <summary>What was measured of a section, now or before; empty if it was not.</summary>
    public string Measured(string key) => _measured.GetValueOrDefault(key, "");

    /// <summary>
    /// Measures sections one after the other, and writes the page after each of them: a later one that fails, or is stopped, takes nothing away.
    /// </summary>
    /// <param name="page">The page; null to print the sections alone.</param>
    /// <param name="output">Where what was measured is printed.</param>
    /// <param name="keys">Which sections.</param>
    /// <param name="measureAsync">Measures a section: its text, and how much was measured.</param>
    /// <param name="render">Makes the page of its sections.</param>
    public static async Task MeasureAsync(
        FileInfo? page, TextWriter output, IEnumerable<string> keys, Func<string, Task<(string Text, string Extent)>> measureAsync, Func<SectionPage, string> render)
    {
        SectionPage results = new(PageFile.Read(page));
        foreach (string key in keys)
        {
            PageRun run = new(page: null, output);
            (string measured, string extent) = await measureAsync(key);
            string text = $"{run.Provenance(extent)}\n\n{measured}";
            results.Replace(key, text);
            await run.WriteAsync(text);
            if (page is not null)
            {
                ResultOutput.WriteFile(page.FullName, render(results));
            }
        }
    }

    /// <summary>Makes the page.</summary>
    /// <param name="head">What is above its sections.</param>
    /// <param name="sections">The sections, in their order.</param>
    public string Render(string head, IEnumerable<PageSection> sections)
    {
        StringBuilder page = new($"{head}Only the texts between the marks `notes` and `/notes` are written by hand.\n\n");
        AppendNotes(page, Key);
        foreach (PageSection section in sections)
        {
            page.Append($"\n## {section.Title}\n\n").Append(section.Text.Length == 0 ? "" : $"{section.Text}\n\n");
            PageBlocks.Append(page, PageBlocks.Measured, section.Key, _measured.GetValueOrDefault(section.Key, section.Missing));
            page.Append('\n');
            AppendNotes(page, section.Key);
        }

        return PageAnswer.Put(page.ToString());
    }

    private void AppendNotes(StringBuilder page, string key) => PageBlocks.Append(page, PageBlocks.Notes, key, _notes.GetValueOrDefault(key, ""));
}
