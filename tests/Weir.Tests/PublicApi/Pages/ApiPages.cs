using System.Globalization;
using System.Reflection;
using System.Text;

namespace Weir.Tests.PublicApi.Pages;

/// <summary>The pages of docs/api: one for each public type of the packages, and an index.</summary>
internal static class ApiPages
{
    public static Assembly[] Assemblies() => [.. PackageNames.All.Select(static p => Assembly.Load(p))];

    public static IEnumerable<Type> Types(Assembly package) => package.GetExportedTypes().OrderBy(static t => t.FullName, StringComparer.Ordinal);

    /// <summary>The text of each file.</summary>
    public static Dictionary<string, string> All()
    {
        Assembly[] packages = Assemblies();
        Documentation documentation = new(packages);
        Dictionary<string, string> pages = new() { ["README.md"] = Index(packages, documentation) };
        foreach (Type type in packages.SelectMany(Types))
        {
            pages.Add(PageText.File(type), TypePage.Of(type, documentation));
        }

        return pages;
    }

    private static string Index(Assembly[] packages, Documentation documentation)
    {
        StringBuilder text = new(
            """
            # API

            A page for each public type, by package. The pages are written from the XML documentation by `eng/api`; change that, and not the pages.
            Overloads of which the same is written stand together. A last parameter `none`, which only orders overloads, is left out.


            """.ReplaceLineEndings("\n"));
        foreach (Assembly package in packages)
        {
            text.Append(CultureInfo.InvariantCulture, $"## {package.GetName().Name}\n\n");
            text.Append(CultureInfo.InvariantCulture, $"{package.GetCustomAttribute<AssemblyDescriptionAttribute>()!.Description}\n\n");
            text.Append("| type | namespace | |\n|---|---|---|\n");
            foreach (Type type in Types(package))
            {
                string kind = $"[`{TypeNames.Of(type)}`]({PageText.File(type)}), {ApiText.Kind(type)}";
                text.Append(CultureInfo.InvariantCulture, $"| {kind} | `{type.Namespace}` | {TypePage.Sentence(type, documentation)} |\n");
            }

            text.Append('\n');
        }

        return text.ToString().TrimEnd('\n') + "\n";
    }
}
