using System.Reflection;
using System.Runtime.CompilerServices;
using System.Xml.Linq;

namespace Weir.Tests.PublicApi;

/// <summary>The XML documentation of packages, as the compiler wrote it beside their assemblies.</summary>
internal sealed class Documentation
{
    private readonly Dictionary<string, XElement> _members = [];
    private readonly Dictionary<string, MemberInfo> _known = [];

    public Documentation(IEnumerable<Assembly> packages)
    {
        foreach (Assembly package in packages)
        {
            foreach (XElement member in XDocument.Load(Path.ChangeExtension(package.Location, ".xml"), LoadOptions.PreserveWhitespace).Descendants("member"))
            {
                _members[member.Attribute("name")!.Value] = member;
            }

            foreach (Type type in package.GetExportedTypes())
            {
                _known[DocId.Of(type)] = type;
                foreach (ApiMember member in ApiText.Members(type))
                {
                    _known[DocId.Of(member.Member)] = member.Member;
                }
            }
        }
    }

    /// <summary>The public type or member of an identifier, or null if it is not one of the packages.</summary>
    public MemberInfo? Find(string id) => _known.GetValueOrDefault(id);

    /// <summary>What is written of a member, together with what it inherits.</summary>
    /// <returns>Null if there is nothing, or only what is inherited from a member outside the packages.</returns>
    public XElement? Of(MemberInfo member)
    {
        XElement all = new("member");
        string? id = DocId.Of(member);
        for (int steps = 0; id is not null && _members.TryGetValue(id, out XElement? written); steps++)
        {
            if (steps == 10)
            {
                throw new InvalidOperationException($"The documentation of {member} inherits in a circle.");
            }

            all.Add(written.Elements().Where(e => e.Name != "inheritdoc" && !all.Elements(e.Name).Any(known => Named(known) == Named(e))));
            XElement? inherits = written.Element("inheritdoc");
            id = inherits is null ? null
                : inherits.Attribute("cref")?.Value
                ?? (Find(id) is { } heir && Base(heir) is { } parent ? DocId.Of(parent) : null);
        }

        return all.HasElements ? InOrder(all, member) : null;
    }

    /// <summary>The same; that of a record's positional property is the parameter's.</summary>
    public XElement? OfRecordToo(MemberInfo member)
    {
        if (Of(member) is { } written)
        {
            return written;
        }

        XElement? parameter = member is PropertyInfo && Of(member.DeclaringType!) is { } record
            ? record.Elements("param").FirstOrDefault(p => p.Attribute("name")!.Value == member.Name)
            : null;
        return parameter is null ? null : new XElement("member", new XElement("summary", parameter.Nodes()));
    }

    /// <summary>Whether a member was written, and not added by the compiler.</summary>
    public bool IsWritten(ApiMember member) => member.Member switch
    {
        ConstructorInfo constructor => Of(constructor) is not null
            || (constructor.GetParameters().Length > 0 && !constructor.IsDefined(typeof(CompilerGeneratedAttribute))),
        PropertyInfo { Name: "EqualityContract" } => false,
        _ => true,
    };

    /// <summary>The member that this one overrides or implements, as it is declared; null if it is neither.</summary>
    public static MemberInfo? Base(MemberInfo member)
    {
        if (member is PropertyInfo property)
        {
            return property.GetMethod is { } getter && Base(getter) is MethodInfo original
                ? original.DeclaringType!.GetProperties(All).FirstOrDefault(p => p.GetMethod == original)
                : null;
        }

        if (member is not MethodInfo method)
        {
            return null;
        }

        if (method.GetBaseDefinition() is { } first && first != method)
        {
            return Declared(first);
        }

        foreach (Type contract in method.DeclaringType!.IsInterface ? [] : method.DeclaringType.GetInterfaces())
        {
            InterfaceMapping map = method.DeclaringType.GetInterfaceMap(contract);
            int i = Array.FindIndex(map.TargetMethods, m => m.MetadataToken == method.MetadataToken && m.Module == method.Module);
            if (i >= 0)
            {
                return Declared(map.InterfaceMethods[i]);
            }
        }

        return null;
    }

    // One summary; one exception of a type.
    private static string Named(XElement element) => element.Attribute("name")?.Value ?? element.Attribute("cref")?.Value ?? "";

    // Parameters in the order of the declaration, and none that only the one has from which it inherits.
    private static XElement InOrder(XElement all, MemberInfo member)
    {
        if (member is not MethodBase method)
        {
            return all;
        }

        string[] types = method.IsGenericMethod ? [.. method.GetGenericArguments().Select(static t => t.Name)] : [];
        string[] names = [.. method.GetParameters().Select(static p => p.Name!)];
        return new XElement(
            "member",
            all.Elements("summary"),
            all.Elements("typeparam").Where(e => types.Contains(Named(e))).OrderBy(e => Array.IndexOf(types, Named(e))),
            all.Elements("param").Where(e => names.Contains(Named(e))).OrderBy(e => Array.IndexOf(names, Named(e))),
            all.Elements().Where(static e => e.Name != "typeparam" && e.Name != "param" && e.Name != "summary"));
    }

    private const BindingFlags All = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance | BindingFlags.Static | BindingFlags.DeclaredOnly;

    // Of the generic type, and not of one with arguments.
    private static MethodInfo Declared(MethodInfo method) => method.DeclaringType is { IsConstructedGenericType: true } type
        ? type.GetGenericTypeDefinition().GetMethods(All).First(m => m.MetadataToken == method.MetadataToken)
        : method;
}
