using System.Globalization;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.Encodings.Web;

namespace Weir.Dashboard.Page;

/// <summary>HTML while it is written. What stands in the holes of a text is encoded, so nothing of an application's can become markup.</summary>
/// <remarks>Only the literals of this project are written as they are, and other <see cref="Markup"/>. Not thread-safe.</remarks>
[InterpolatedStringHandler]
internal sealed class Markup
{
    /// <summary>How many characters of one text are shown.</summary>
    public const int MaxText = 300;

    private readonly StringBuilder _text;

    public Markup()
        : this(0, 0)
    {
    }

    /// <summary>For the compiler, which makes one of an interpolated string.</summary>
    public Markup(int literalLength, int holes) => _text = new StringBuilder(literalLength + (16 * holes));

    /// <summary>Writes markup: <c>page.Add($"&lt;td&gt;{name}&lt;/td&gt;")</c>.</summary>
    public void Add(Markup other) => _text.Append(other._text);

    public void AppendLiteral(string literal) => _text.Append(literal);

    public void AppendFormatted(Markup other) => _text.Append(other._text);

    public void AppendFormatted(string? text)
    {
        if (!string.IsNullOrEmpty(text))
        {
            _text.Append(HtmlEncoder.Default.Encode(Cut(text)));
        }
    }

    public void AppendFormatted(double number, string? format = null) => AppendFormatted(number.ToString(format, CultureInfo.InvariantCulture));

    public override string ToString() => _text.ToString();

    /// <summary>A text of an application: encoded, cut, and with a direction of its own, so that it cannot turn what stands beside it.</summary>
    public static Markup Text(string? text) => $"<bdi>{text}</bdi>";

    /// <summary>A text of any length: encoded and not cut.</summary>
    public static Markup Whole(string? text)
    {
        Markup markup = new();
        markup._text.Append(HtmlEncoder.Default.Encode(text ?? ""));
        return markup;
    }

    /// <summary>What this project wrote itself: as it is. Never of anything else.</summary>
    public static Markup Own(string literal)
    {
        Markup markup = new();
        markup._text.Append(literal);
        return markup;
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
}
