using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Encodings.Web;

namespace Weir.Dashboard.Page;

// How a page is written:
//
//   page.Add($"<td>{run.Name}</td>") writes the literals as they are, and encodes what stands in the holes: nothing of an application's can become markup. All of
//   it goes into one buffer, in UTF-8, piece by piece in the order of the text. So a part of the page with a text of its own can stand in a hole too, if it gets
//   the page: page.Add($"<td>{Parts.State(page, state)}</td>") has written <td> when Parts.State writes, and the hole has nothing to add, which Written says.

/// <summary>HTML while it is written. What stands in the holes of a text is encoded, so nothing of an application's can become markup.</summary>
/// <remarks>Only the literals of this project are written as they are. Not thread-safe.</remarks>
internal sealed class Markup
{
    /// <summary>How many characters of one text are shown.</summary>
    public const int MaxText = 300;

    private readonly ArrayBufferWriter<byte> _html = new(16 * 1024);
    private readonly List<(string Id, int Start)> _sections = [];

    /// <summary>What was written, in UTF-8.</summary>
    public ReadOnlyMemory<byte> Html => _html.WrittenMemory;

    /// <summary>The sections that were begun, and where each begins. It ends where the next one begins.</summary>
    public IReadOnlyList<(string Id, int Start)> Sections => _sections;

    /// <summary>Begins anew, in the same memory.</summary>
    public void Clear()
    {
        _html.ResetWrittenCount();
        _sections.Clear();
    }

    /// <summary>Writes markup: <c>page.Add($"&lt;td&gt;{name}&lt;/td&gt;")</c>.</summary>
    [SuppressMessage("Performance", "CA1822:Mark members as static", Justification = "The compiler gives the page to the text.")]
    public Written Add([InterpolatedStringHandlerArgument("")] Text text) => default;

    /// <summary>Begins a section, which whoever calls ends. The live part of the page is made of nothing else.</summary>
    public void BeginSection(string id)
    {
        _sections.Add((id, _html.WrittenCount));
        Add($"<section id=\"{id}\">");
    }

    /// <summary>A text of an application: encoded, cut, and with a direction of its own, so that it cannot turn what stands beside it.</summary>
    public Written Foreign(string? text) => Add($"<bdi>{text}</bdi>");

    /// <summary>A text of any length: encoded and not cut.</summary>
    public Written Whole(string? text)
    {
        Write(HtmlEncoder.Default.Encode(text ?? ""));
        return default;
    }

    /// <summary>What this project wrote itself: as it is. Never of anything else.</summary>
    public Written Own(string literal)
    {
        Write(literal);
        return default;
    }

    private static string Cut(string text)
    {
        if (text.Length <= MaxText)
        {
            return text;
        }

        // A character is never cut in two.
        int end = char.IsHighSurrogate(text[MaxText - 1]) ? MaxText - 1 : MaxText;
        return string.Concat(text.AsSpan(0, end), "…");
    }

    private void Write(string html)
    {
        Span<byte> room = _html.GetSpan(Encoding.UTF8.GetMaxByteCount(html.Length));
        _html.Advance(Encoding.UTF8.GetBytes(html, room));
    }

    /// <summary>What a part returns that has written itself into the page, so that it can stand in a hole of a text. It adds nothing.</summary>
    public readonly struct Written;

    /// <summary>A text with holes, which the compiler writes into the page piece by piece.</summary>
    [InterpolatedStringHandler]
    public readonly ref struct Text
    {
        private readonly Markup _page;

        /// <summary>For the compiler.</summary>
        public Text(int literalLength, int holes, Markup page)
        {
            _page = page;
            page._html.GetSpan(literalLength + (16 * holes));
        }

        public void AppendLiteral(string literal) => _page.Write(literal);

        [SuppressMessage("Performance", "CA1822:Mark members as static", Justification = "The compiler calls it on the text.")]
        public void AppendFormatted(Written part)
        {
        }

        public void AppendFormatted(string? text)
        {
            if (!string.IsNullOrEmpty(text))
            {
                _page.Write(HtmlEncoder.Default.Encode(Cut(text)));
            }
        }

        public void AppendFormatted(double number, string? format = null)
        {
            int length;
            for (int size = 32; !number.TryFormat(_page._html.GetSpan(size), out length, format, CultureInfo.InvariantCulture); size *= 2)
            {
            }

            _page._html.Advance(length);
        }
    }
}
