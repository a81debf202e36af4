using System.Reflection;
using System.Xml.Linq;

namespace Weir.Tests.PublicApi;

/// <summary>The XML documentation, from which the site's reference is made, is complete.</summary>
public class DocumentationTests
{
    private static readonly string[] ThreadSafety = ["thread", "immutable"];
    private static readonly Assembly[] Assemblies = [.. PackageNames.All.Select(static p => Assembly.Load(p))];
    private static readonly Documentation Written = new(Assemblies);

    public static TheoryData<string> Types() => [.. Assemblies.SelectMany(static a => a.GetExportedTypes()).Select(static t => t.AssemblyQualifiedName!)];

    [Theory]
    [MemberData(nameof(Types))]
    public void PublicType_Documentation_IsComplete(string name)
    {
        Type type = Type.GetType(name, throwOnError: true)!;
        List<string> missing = [];
        if (Written.Of(type)?.Element("summary") is null)
        {
            missing.Add("summary");
        }

        missing.AddRange(Missing(type.GetGenericArguments(), Written.Of(type)));
        if (IsUsedByThreads(type) && Written.Of(type) is { } all && !ThreadSafety.Any(word => all.Value.Contains(word, StringComparison.OrdinalIgnoreCase)))
        {
            missing.Add("word on thread safety");
        }

        foreach (ApiMember member in ApiText.Members(type).Where(Written.IsWritten))
        {
            missing.AddRange(Missing(member.Member).Select(what => $"{what} of {member.Line}"));
        }

        Assert.True(missing.Count == 0, $"{type} has no\n{string.Join('\n', missing)}");
    }

    private static IEnumerable<string> Missing(MemberInfo member)
    {
        XElement? written = Written.OfRecordToo(member);
        if (written is null)
        {
            // What comes from outside is documented there.
            return Documentation.Base(member) is null ? ["documentation"] : [];
        }

        List<string> missing = [.. written.Element("summary") is null ? new[] { "summary" } : []];
        if (member is PropertyInfo { CanWrite: true } property && property.DeclaringType!.Name.Contains("Options", StringComparison.Ordinal)
            && !typeof(Delegate).IsAssignableFrom(property.PropertyType) && written.Element("value") is null)
        {
            missing.Add("value, with unit, range and default,");
        }

        if (member is MethodBase method)
        {
            missing.AddRange(method.GetParameters().Select(static p => p.Name!)
                .Where(p => !written.Elements("param").Any(e => e.Attribute("name")!.Value == p)).Select(static p => $"param {p}"));
            if (method is MethodInfo { ReturnType: var awaited } && awaited.GetMethod("GetAwaiter") is not null
                && method.GetParameters().Any(static p => p.ParameterType == typeof(CancellationToken))
                && !written.Elements("exception").Any(static e => e.Attribute("cref")!.Value.EndsWith(".OperationCanceledException", StringComparison.Ordinal))
                && !written.Elements().Any(static e => e.Name != "param" && e.Value.Contains("cancel", StringComparison.OrdinalIgnoreCase)))
            {
                missing.Add("word on cancellation");
            }

            missing.AddRange(Missing(method.IsGenericMethod ? method.GetGenericArguments() : [], written));
            if (method is MethodInfo { ReturnType: var type } && type != typeof(void) && written.Element("returns") is null)
            {
                missing.Add("returns");
            }
        }

        return missing;
    }

    // Not data, and nothing that an exception or an interface of one method only carries.
    private static bool IsUsedByThreads(Type type) => type is { IsClass: true, IsSealed: true, IsAbstract: false }
        && !typeof(Exception).IsAssignableFrom(type) && type.GetMethod("<Clone>$") is null;

    private static IEnumerable<string> Missing(Type[] arguments, XElement? written) => arguments.Select(static a => a.Name)
        .Where(a => written?.Elements("typeparam").Any(e => e.Attribute("name")!.Value == a) != true).Select(static a => $"typeparam {a}");
}
