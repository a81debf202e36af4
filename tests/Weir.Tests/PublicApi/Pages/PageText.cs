using System.Globalization;
using System.Reflection;
using System.Text;
using System.Text.RegularExpressions;
using System.Xml.Linq;

namespace Weir.Tests.PublicApi.Pages;

/// <summary>XML documentation as Markdown, with links to the pages of what it names.</summary>
internal sealed partial class PageText(Documentation documentation, Type? page = null)
{
    private const int Width = 150;

    /// <summary>The file of a type's page. That of a generic type ends with the number of its parameters, as at Microsoft's.</summary>
    public static string File(Type type) => type.Name.Replace('`', '-') + ".md";

    /// <summary>The text of an element, as paragraphs and lists.</summary>
    public string Block(XElement element)
    {
        StringBuilder text = new();
        StringBuilder paragraph = new();
        foreach (XNode node in element.Nodes())
        {
            if (node is XElement { Name.LocalName: "para" } para)
            {
                End();
                text.Append(Block(para)).Append("\n\n");
            }
            else if (node is XElement { Name.LocalName: "list" } list)
            {
                End();
                foreach (XElement item in list.Elements("item"))
                {
                    text.Append(Wrapped(Line(item), "- ", "  ")).Append('\n');
                }

                text.Append('\n');
            }
            else
            {
                paragraph.Append(Inline(node));
            }
        }

        End();
        return text.ToString().TrimEnd('\n');

        void End()
        {
            string words = Spaces().Replace(paragraph.ToString(), " ").Trim();
            if (words.Length > 0)
            {
                text.Append(Wrapped(words)).Append("\n\n");
            }

            paragraph.Clear();
        }
    }

    /// <summary>The text of an element in one line.</summary>
    public string Line(XElement element) =>
        Spaces().Replace(string.Concat(element.Nodes().Select(n => n is XElement { Name.LocalName: "para" } p ? Line(p) + " " : Inline(n))), " ").Trim();

    /// <summary>A link to what an identifier names; only its name if it has no page here.</summary>
    public string Link(string id)
    {
        MemberInfo? found = documentation.Find(id);
        Type? type = found as Type ?? found?.DeclaringType;
        string name = found switch
        {
            null => Short(id),
            Type t => TypeNames.Of(t),
            ConstructorInfo c => TypeNames.Simple(c.DeclaringType!),
            _ => type == page ? found.Name : $"{TypeNames.Simple(type!)}.{found.Name}",
        };
        string anchor = found is null or Type || found.DeclaringType!.IsEnum ? "" : "#" + Anchor(found);
        return type is null || found == page ? $"`{name}`" : $"[`{name}`]({(type == page && anchor.Length > 0 ? "" : File(type))}{anchor})";
    }

    /// <summary>The heading of a member.</summary>
    public static string Heading(MemberInfo member) => member is ConstructorInfo ? TypeNames.Simple(member.DeclaringType!) : member.Name;

    /// <summary>Breaks words into lines, without breaking code or links.</summary>
    public static string Wrapped(string words, string first = "", string next = "") => Wrapped(Word().Matches(words), first, next);

    /// <summary>Breaks a declaration into lines, between its parameters.</summary>
    public static string WrappedCode(string line) => Wrapped(Parameter().Matches(line), "", "    ");

    private static string Wrapped(IEnumerable<Match> words, string first, string next)
    {
        StringBuilder text = new(first);
        int column = first.Length;
        foreach (Match word in words)
        {
            if (column > next.Length && column > first.Length && column + 1 + word.Length > Width)
            {
                text.Append('\n').Append(next);
                column = next.Length;
            }
            else if (word.Index > 0)
            {
                text.Append(' ');
                column++;
            }

            text.Append(word.Value);
            column += word.Length;
        }

        return text.ToString();
    }

    private static string Anchor(MemberInfo member) => Heading(member).ToLowerInvariant();

    private string Inline(XNode node) => node switch
    {
        XText text => Escaped(text.Value),
        XElement { Name.LocalName: "c" } code => $"`{code.Value}`",
        XElement { Name.LocalName: "list" } list => " " + string.Join(' ', list.Elements("item").Select(Line)) + " ",
        XElement { Name.LocalName: "em" } emphasis => $"*{Line(emphasis)}*",
        XElement { Name.LocalName: "paramref" or "typeparamref" } parameter => $"`{parameter.Attribute("name")!.Value}`",
        XElement { Name.LocalName: "see" } see when see.Attribute("langword") is { } word => $"`{word.Value}`",
        XElement { Name.LocalName: "see" } see when see.Attribute("href") is { } address => $"[{(see.IsEmpty ? address.Value : Line(see))}]({address.Value})",
        XElement { Name.LocalName: "see" } see => Link(see.Attribute("cref")!.Value),
        XElement other => throw new NotSupportedException($"<{other.Name.LocalName}> in documentation: {other}"),
        _ => "",
    };

    private static string Escaped(string text) =>
        text.Replace("<", "&lt;", StringComparison.Ordinal).Replace("*", @"\*", StringComparison.Ordinal).Replace("[", @"\[", StringComparison.Ordinal);

    // T:System.Func`2 is Func, M:System.Net.Http.HttpClient.Send(System.Int32) is HttpClient.Send.
    private static string Short(string id)
    {
        string[] names = Arguments().Replace(id[2..], "").Split('.');
        return string.Join('.', names[^(id[0] == 'T' ? 1 : Math.Min(2, names.Length))..]).Replace("#ctor", "new", StringComparison.Ordinal);
    }

    /// <summary>The first sentence of a text.</summary>
    public static string Sentence(string line) => FirstSentence().Match(line).Value;

    /// <summary>A number in the culture of no place.</summary>
    public static string Number(object value) => Convert.ToInt64(value, CultureInfo.InvariantCulture).ToString(CultureInfo.InvariantCulture);

    [GeneratedRegex(@"\s+")]
    private static partial Regex Spaces();

    // Code and links are one word, with what stands right before and after them.
    [GeneratedRegex(@"(?:\[`[^`]*`\]\([^)]*\)|`[^`]*`|\S)+")]
    private static partial Regex Word();

    [GeneratedRegex(@"\S.*?(?:,(?= )|$)")]
    private static partial Regex Parameter();

    [GeneratedRegex(@"\(.*\)|`+\d+|\{.*\}")]
    private static partial Regex Arguments();

    [GeneratedRegex(@"^(?:`[^`]*`|.)*?[.:](?= [A-Z]|$)|^.*$")]
    private static partial Regex FirstSentence();
}
