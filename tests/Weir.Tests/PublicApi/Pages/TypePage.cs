using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;
using System.Text.RegularExpressions;
using System.Xml.Linq;

namespace Weir.Tests.PublicApi.Pages;

/// <summary>The page of a public type: how it and its members are declared, and what is written of them.</summary>
internal sealed partial class TypePage(Type type, Documentation documentation)
{
    private readonly PageText _text = new(documentation, type);
    private readonly StringBuilder _page = new();

    public static string Of(Type type, Documentation documentation) => new TypePage(type, documentation).Write();

    /// <summary>The first sentence of a type's summary.</summary>
    public static string Sentence(Type type, Documentation documentation) =>
        documentation.Of(type)?.Element("summary") is { } summary ? PageText.Sentence(new PageText(documentation).Line(summary)) : "";

    /// <summary>The documentation of a member; that of a record's positional property is the parameter's.</summary>
    public static XElement? Written(MemberInfo member, Documentation documentation)
    {
        if (documentation.Of(member) is { } written)
        {
            return written;
        }

        XElement? parameter = member is PropertyInfo && documentation.Of(member.DeclaringType!) is { } record
            ? record.Elements("param").FirstOrDefault(p => p.Attribute("name")!.Value == member.Name)
            : null;
        return parameter is null ? null : new XElement("member", new XElement("summary", parameter.Nodes()));
    }

    /// <summary>Whether a member stands on the page: all but those that the compiler added.</summary>
    public static bool IsShown(ApiMember member, Documentation documentation) => member.Member switch
    {
        ConstructorInfo constructor => documentation.Of(constructor) is not null
            || (constructor.GetParameters().Length > 0 && !constructor.IsDefined(typeof(CompilerGeneratedAttribute))),
        PropertyInfo { Name: "EqualityContract" } => false,
        _ => true,
    };

    private string Write()
    {
        _page.Append(CultureInfo.InvariantCulture, $"# {TypeNames.Of(type).Replace("<", "&lt;", StringComparison.Ordinal)}\n\n");
        _page.Append(CultureInfo.InvariantCulture, $"Namespace `{type.Namespace}`, package `{type.Assembly.GetName().Name}`. [All types](README.md).\n\n");
        Code([ApiText.Header(type)]);
        if (documentation.Of(type) is { } written)
        {
            // Those of a record are its constructor's.
            Words(written, withParameters: false);
        }

        ApiMember[] members = [.. ApiText.Members(type).Where(m => IsShown(m, documentation))];
        if (type.IsEnum)
        {
            Values(members);
        }
        else
        {
            Section("Constructors", members.Where(static m => m.Member is ConstructorInfo));
            Section("Fields", members.Where(static m => m.Member is FieldInfo));
            Section("Properties", members.Where(static m => m.Member is PropertyInfo));
            Section("Methods", members.Where(static m => m.Member is MethodInfo));
            Section("Events", members.Where(static m => m.Member is EventInfo));
        }

        return _page.ToString().TrimEnd('\n') + "\n";
    }

    private void Values(ApiMember[] members)
    {
        _page.Append("| value | number | meaning |\n|---|---:|---|\n");
        foreach (ApiMember member in members)
        {
            string meaning = Written(member.Member, documentation)?.Element("summary") is { } summary ? _text.Line(summary) : "";
            string number = PageText.Number(((FieldInfo)member.Member).GetRawConstantValue()!);
            _page.Append(CultureInfo.InvariantCulture, $"| `{member.Member.Name}` | {number} | {meaning.Replace("|", @"\|", StringComparison.Ordinal)} |\n");
        }
    }

    private void Section(string title, IEnumerable<ApiMember> members)
    {
        ApiMember[] all = [.. members];
        if (all.Length == 0)
        {
            return;
        }

        _page.Append(CultureInfo.InvariantCulture, $"## {title}\n\n");
        foreach (IGrouping<string, ApiMember> named in all.GroupBy(static m => PageText.Heading(m.Member)))
        {
            _page.Append(CultureInfo.InvariantCulture, $"### {named.Key}\n\n");

            // Overloads of which the same is written stand together.
            foreach (IGrouping<string, ApiMember> same in named.OrderBy(static m => Generics(m.Member)).GroupBy(m => Text(m.Member)))
            {
                Code(same.Select(static m => Signature(m.Line)).OrderBy(static l => l.Length).ThenBy(static l => l, StringComparer.Ordinal));
                _page.Append(same.Key);
            }
        }
    }

    // Overloads with more type parameters, such as that of a key, come last.
    private static int Generics(MemberInfo member) => member is MethodInfo { IsGenericMethod: true } method ? method.GetGenericArguments().Length : 0;

    private string Text(MemberInfo member)
    {
        TypePage part = new(type, documentation);
        if (Written(member, documentation) is { } written)
        {
            part.Words(written, withParameters: true);
        }
        else if (Documentation.Base(member) is { } original)
        {
            string verb = original.DeclaringType!.IsInterface ? "Implements" : "Overrides";
            part._page.Append(CultureInfo.InvariantCulture, $"{verb} `{TypeNames.Of(original.DeclaringType)}.{original.Name}`.\n\n");
        }

        return part._page.ToString();
    }

    private void Words(XElement written, bool withParameters)
    {
        Paragraph(written.Element("summary"));
        List<string> points = [];
        foreach (XElement element in written.Elements())
        {
            string name = element.Attribute("name")?.Value ?? "";
            string? title = element.Name.LocalName switch
            {
                "typeparam" => $"`{name}`",
                "param" when withParameters && name != "none" => $"`{name}`",
                "returns" => "Returns",
                "value" => "Value",
                "exception" => $"Throws {_text.Link(element.Attribute("cref")!.Value)}",
                _ => null,
            };
            if (title is not null)
            {
                points.Add(PageText.Wrapped($"{title}: {_text.Line(element)}", "- ", "  "));
            }
        }

        if (points.Count > 0)
        {
            _page.Append(string.Join('\n', points)).Append("\n\n");
        }

        Paragraph(written.Element("remarks"));
    }

    private void Paragraph(XElement? element)
    {
        if (element is not null)
        {
            _page.Append(_text.Block(element)).Append("\n\n");
        }
    }

    private void Code(IEnumerable<string> lines) =>
        _page.Append("```cs\n").Append(string.Join('\n', lines.Select(static l => PageText.WrappedCode(l)))).Append("\n```\n\n");

    // As it is called: what only orders the overloads is left out.
    private static string Signature(string line) => OnlyForOrder().Replace(line, "");

    [GeneratedRegex(@"^\[OverloadResolutionPriority\(-?\d+\)\] |, params \S*Missing\S* none")]
    private static partial Regex OnlyForOrder();
}
