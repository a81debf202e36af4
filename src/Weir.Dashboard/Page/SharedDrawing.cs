using System.Text;
using Weir.Observability;

namespace Weir.Dashboard.Page;

/// <summary>What all see who look at one address with one right: each look is drawn once, whoever many see it, into memory that is used again. Thread-safe.</summary>
internal sealed class SharedDrawing
{
    private readonly Lock _lock = new();

    // Under the lock.
    private readonly Markup _page = new();
    private WeirSnapshot? _drawn;
    private DrawnSection[] _sections = [];

    /// <summary>How many look. Under the lock of whoever counts them.</summary>
    public int Viewers { get; set; }

    /// <summary>The sections at a look. What looks as it did before is the same object as before.</summary>
    public IReadOnlyList<DrawnSection> Of(PageData data)
    {
        lock (_lock)
        {
            if (!ReferenceEquals(_drawn, data.Now))
            {
                _page.Clear();
                PageWriter.Live(_page, data);
                _sections = [.. _page.Sections.Select((section, i) =>
                {
                    ReadOnlySpan<byte> html = _page.Html.Span[section.Start..(i + 1 < _page.Sections.Count ? _page.Sections[i + 1].Start : _page.Html.Length)];
                    DrawnSection? before = Array.Find(_sections, drawn => drawn.Id == section.Id);
                    return before is not null && html.SequenceEqual(before.Html) ? before : new DrawnSection(section.Id, html);
                })];
                _drawn = data.Now;
            }

            return _sections;
        }
    }
}

/// <summary>A section of the page as it was drawn, in UTF-8. It has no line breaks, because texts are encoded.</summary>
internal sealed class DrawnSection(string id, ReadOnlySpan<byte> html)
{
    public string Id => id;

    public byte[] Html { get; } = html.ToArray();

    /// <summary>What stands for it where it is the same as before.</summary>
    public byte[] Same { get; } = Encoding.ASCII.GetBytes($"<section id=\"{id}\" data-same></section>");
}
