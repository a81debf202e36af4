using System.Globalization;
using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using static System.FormattableString;

namespace Weir.Tests.Resolution.Shapes;

/// <summary>Writes the overloads for the other shapes of calls from those that are written by hand, so that each is there and none differs.</summary>
internal static class OverloadText
{
    private const int Columns = 160;

    public static readonly string[] Operators =
    [
        "SelectParallel", "SelectParallelStream", "SelectParallelOutcomes", "SelectParallelOutcomesStream", "ForEachParallel", "BatchParallel",
        "BatchParallelStream", "ForEachBatchParallel",
    ];

    private const string Note =
        "// Written by OverloadTextTests from the overloads for calls that return a ValueTask: change those, and run it with WEIR_ACCEPT_OVERLOADS=1.\n";

    // Of the type parameters of overloads that have one more than what they inherit their comment from.
    private static readonly Dictionary<string, string> Meaning = new()
    {
        ["TSource"] = "The type of the items.",
        ["TKey"] = "The type of the keys.",
        ["TResult"] = "The type of the results, which are discarded.",
    };

    /// <summary>All generated files, by their paths.</summary>
    public static IEnumerable<(string File, string Text)> Files()
    {
        string folder = Path.Combine(Repository.Root, "src", "Weir");
        foreach (string name in Operators)
        {
            MethodDeclarationSyntax[] plain = Written(Path.Combine(folder, "Operators", name + ".cs"));
            MethodDeclarationSyntax[] keyed = Written(Path.Combine(folder, "Operators", name + ".Partitioned.cs"));
            string what = Content(Path.Combine(folder, "Operators", name + ".cs"));
            bool hasResult = !name.StartsWith("ForEach", StringComparison.Ordinal);
            foreach (IGrouping<string, OverloadShape> file in Shapes(hasResult))
            {
                string text = Header("System.Reflection", "System.Runtime.CompilerServices", "System.Threading.Channels", "Weir.Operators")
                    + $"namespace Weir;\n\n/// <content>{what}, of calls {file.First().Content}.</content>\npublic static partial class ParallelOperators\n{{\n"
                    + string.Join("\n", file.SelectMany(shape => plain.Concat(keyed).Select(m => OfOperator(m, shape)))) + "}\n";
                yield return (Path.Combine(folder, "Operators", $"{name}.{file.Key}.cs"), text);
            }
        }

        (MethodDeclarationSyntax Method, string Runtime)[] calls =
        [
            .. Written(Path.Combine(folder, "Runtimes", "IExecutionRuntime.cs")).Select(static m => (m, "IExecutionRuntime")),
            .. Written(Path.Combine(folder, "Runtimes", "Auto", "AutoRuntime.cs"))
                .Where(static m => m.Identifier.Text.EndsWith("DecisionsAsync", StringComparison.Ordinal)).Select(static m => (m, "AutoRuntime")),
        ];
        foreach (IGrouping<string, OverloadShape> file in Shapes(hasResult: true))
        {
            string text = Header(file.Key == "Tasks" ? ["Weir.Operators"] : ["System.Reflection", "System.Runtime.CompilerServices", "Weir.Operators"])
                + $"namespace Weir.Runtimes;\n\n/// <content>Overloads for calls {file.First().Content}.</content>\n"
                + "public static partial class ExecutionRuntimeExtensions\n{\n"
                + string.Join("\n", file.SelectMany(shape => calls.Select(c => OfRuntime(c.Method, c.Runtime, shape)))) + "}\n";
            yield return (Path.Combine(folder, "Runtimes", "Extensions", $"ExecutionRuntimeExtensions.{file.Key}.cs"), text);
        }
    }

    private static IEnumerable<IGrouping<string, OverloadShape>> Shapes(bool hasResult) =>
        OverloadShape.All.Where(s => s.WithResult is not null || !hasResult).GroupBy(static s => s.Suffix);

    private static string Header(params string[] usings) => Note + string.Concat(usings.Select(static u => $"using {u};\n")) + "\n";

    private static MethodDeclarationSyntax[] Written(string file) =>
        [.. CSharpSyntaxTree.ParseText(File.ReadAllText(file), new CSharpParseOptions(LanguageVersion.Latest)).GetRoot().DescendantNodes()
            .OfType<MethodDeclarationSyntax>().Where(static m => m.ParameterList.Parameters.Any(IsCall) && !m.Modifiers.Any(SyntaxKind.PrivateKeyword))];

    private static string Content(string file) =>
        File.ReadLines(file).First(static l => l.StartsWith("/// <content>", StringComparison.Ordinal))["/// <content>".Length..].Split('.')[0];

    private static bool IsCall(ParameterSyntax parameter) =>
        parameter.Type!.ToString().Contains("CancellationToken, ValueTask", StringComparison.Ordinal);

    private static string OfOperator(MethodDeclarationSyntax method, OverloadShape shape)
    {
        ParameterSyntax[] parameters = [.. method.ParameterList.Parameters];
        bool asynchronous = parameters[0].Type!.ToString().StartsWith("IAsyncEnumerable", StringComparison.Ordinal);
        StringBuilder text = Comment(method, "");
        if (shape.WithResult is null)
        {
            text.AppendJoin("", method.TypeParameterList!.Parameters.Select(static p => p.Identifier.Text).Append("TResult")
                .Select(static name => $"    /// <typeparam name=\"{name}\">{Meaning[name]}</typeparam>\n"));
        }

        string rank = shape.Rank == 1 ? "Priority.Rank" : $"({shape.Rank} * Priority.Rank)";
        TypeParameterListSyntax types = shape.WithResult is null
            ? method.TypeParameterList!.AddParameters(SyntaxFactory.TypeParameter(" TResult"))
            : method.TypeParameterList!;
        text.Append(Invariant($"    [OverloadResolutionPriority({(asynchronous ? "Priority.Asynchronous" : "Priority.Synchronous")} + {rank})]\n"));
        text.Append(Invariant($"    public static {method.ReturnType} {method.Identifier}{types}(\n"));
        text.AppendJoin(",\n", parameters.Select(p => Parameter(p, shape)).Append("        " + shape.Rung));
        text.Append(Constraint(method) + " =>\n");
        text.Append(Invariant($"        source.{method.Identifier}({string.Join(", ", parameters.Skip(1).Select(p => Argument(p, shape)))});\n"));
        return text.ToString();
    }

    private static string OfRuntime(MethodDeclarationSyntax method, string runtime, OverloadShape shape)
    {
        ParameterSyntax[] parameters = [.. method.ParameterList.Parameters];
        bool ranked = shape.Rank > 1;
        StringBuilder text = Comment(method, runtime + ".");
        text.Append("    /// <param name=\"runtime\">The runtime.</param>\n").Append(Parameters(method));
        if (ranked)
        {
            text.Append("    /// <param name=\"none\">Nothing. It hides the overload from C# 12, which knows no priorities.</param>\n");
            text.Append(Invariant($"    [OverloadResolutionPriority({shape.Rank} * Priority.Rank)]\n"));
        }

        text.Append(Invariant($"    public static {method.ReturnType} {method.Identifier}{method.TypeParameterList}(\n        this {runtime} runtime,\n"));
        text.AppendJoin(",\n", parameters.Select(p => Parameter(p, shape)).Concat(ranked ? ["        " + shape.Rung] : []));
        text.Append(Constraint(method) + "\n    {\n        ArgumentNullException.ThrowIfNull(runtime);\n");
        text.Append(Invariant($"        return runtime.{method.Identifier}({string.Join(", ", parameters.Select(p => Argument(p, shape)))});\n    }}\n"));
        return text.ToString();
    }

    private static string Parameter(ParameterSyntax parameter, OverloadShape shape) =>
        "        " + (IsCall(parameter) ? $"{Delegate(parameter, shape)} {parameter.Identifier}" : parameter.ToString());

    private static string Constraint(MethodDeclarationSyntax method) =>
        ")" + string.Concat(method.ConstraintClauses.Select(static c => $"\n        {c.ToString().Trim()}"));

    private static string Delegate(ParameterSyntax call, OverloadShape shape)
    {
        SeparatedSyntaxList<TypeSyntax> types = ((GenericNameSyntax)call.Type!).TypeArgumentList.Arguments;
        return types[^1] is GenericNameSyntax result
            ? string.Format(CultureInfo.InvariantCulture, shape.WithResult!, types[0], result.TypeArgumentList.Arguments[0])
            : string.Format(CultureInfo.InvariantCulture, shape.WithoutResult, types[0]);
    }

    private static string Argument(ParameterSyntax parameter, OverloadShape shape)
    {
        bool isAction = parameter.Type!.ToString().EndsWith("ValueTask>", StringComparison.Ordinal);
        string adapter = isAction ? shape.Adapter.Action : shape.Adapter.Selector;
        return IsCall(parameter) ? $"TaskCalls.{adapter}({parameter.Identifier})" : parameter.Identifier.Text;
    }

    // The lines of its comment that tell of parameters.
    private static string Parameters(MethodDeclarationSyntax method)
    {
        StringBuilder lines = new();
        bool inside = false;
        foreach (string line in method.GetLeadingTrivia().ToFullString().Split('\n').Select(static l => l.Trim()))
        {
            inside |= line.StartsWith("/// <param ", StringComparison.Ordinal);
            if (inside)
            {
                lines.Append(Invariant($"    {line}\n"));
            }

            inside &= !line.EndsWith("</param>", StringComparison.Ordinal);
        }

        return lines.ToString();
    }

    private static StringBuilder Comment(MethodDeclarationSyntax method, string type)
    {
        StringBuilder name = new($"/// <inheritdoc cref=\"{type}{method.Identifier}{Braces(method.TypeParameterList!.ToString())}(");
        name.AppendJoin(", ", method.ParameterList.Parameters.Select(static p => Braces(p.Type!.ToString())
            .Replace("Options?", "Options", StringComparison.Ordinal)));
        name.Append(")\"/>");
        StringBuilder text = new();
        string indent = "    ";
        string rest = name.ToString();
        while (indent.Length + rest.Length > Columns)
        {
            int cut = rest.LastIndexOf(' ', Columns - indent.Length);
            text.Append(Invariant($"{indent}{rest[..cut]}\n"));
            rest = "///     " + rest[(cut + 1)..];
        }

        return text.Append(Invariant($"{indent}{rest}\n"));
    }

    private static string Braces(string type) => type.Replace('<', '{').Replace('>', '}');
}
