using System.Text;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.OverloadWriter;

/// <summary>Writes one overload from the method that it calls.</summary>
internal static class OverloadText
{
    // Of type parameters of overloads that have one more than the method that they inherit their comment from.
    private static readonly Dictionary<string, string> Meaning = new()
    {
        ["TSource"] = "The type of the items.",
        ["TResult"] = "The type of the results, which are discarded.",
    };

    /// <summary>Whether it is the user's call, in the one shape that is written by hand.</summary>
    public static bool IsCall(ParameterSyntax parameter) =>
        parameter.Type?.ToString().Contains("CancellationToken, ValueTask") == true;

    /// <summary>Whether the method takes calls with results too, and discards them. Of a runtime, another method takes those.</summary>
    public static bool Discards(MethodDeclarationSyntax method) =>
        IsAction(method) && !method.ParameterList.Parameters[0].Type!.ToString().EndsWith("Runtime", StringComparison.Ordinal);

    private static bool IsAction(MethodDeclarationSyntax method) => method.ParameterList.Parameters.Where(IsCall).All(IsAction);

    public static string OfOperator(MethodDeclarationSyntax method, OverloadShape shape)
    {
        ParameterSyntax[] parameters = [.. method.ParameterList.Parameters];
        bool asynchronous = parameters[0].Type!.ToString().StartsWith("IAsyncEnumerable", StringComparison.Ordinal);
        StringBuilder text = new(Comment(method, ""));
        string types = method.TypeParameterList!.ToString();
        if (shape.WithResult is null)
        {
            foreach (string name in method.TypeParameterList.Parameters.Select(static p => p.Identifier.Text).Append("TResult"))
            {
                text.Append($"    /// <typeparam name=\"{name}\">{Meaning[name]}</typeparam>\n");
            }

            types = types.Replace(">", ", TResult>");
        }

        string priority = asynchronous ? "Priority.Asynchronous" : "Priority.Synchronous";
        text.Append($"    [OverloadResolutionPriority({priority} + ({shape.Priority}))]\n");
        text.Append($"    public static {method.ReturnType} {method.Identifier}{types}(\n");
        text.Append(Parameters(parameters, shape, shape.Rung)).Append(')');
        text.Append($" =>\n        source.{method.Identifier}({Arguments(parameters.Skip(1), shape)});\n");
        return text.ToString();
    }

    public static string OfRuntime(MethodDeclarationSyntax method, string runtime, OverloadShape shape)
    {
        // An overload that is an extension comes behind the method itself in any case, unless that is one as well.
        bool extends = method.Modifiers.Any(SyntaxKind.StaticKeyword);
        ParameterSyntax[] parameters = [.. method.ParameterList.Parameters.Skip(extends ? 1 : 0)];
        bool ranked = extends || shape.HasTokenOnly || shape.Rank > 1;
        StringBuilder text = new(Comment(method, extends ? "" : runtime + "."));
        runtime = extends ? method.ParameterList.Parameters[0].Type!.ToString() : runtime;
        text.Append(extends ? "" : "    /// <param name=\"runtime\">The runtime.</param>\n").Append(ParameterComments(method, shape));
        if (ranked)
        {
            text.Append("    /// <param name=\"none\">Nothing. It hides the overload from C# 12, which knows no priorities.</param>\n");
            text.Append($"    [OverloadResolutionPriority({shape.Priority})]\n");
        }

        text.Append($"    public static {method.ReturnType} {method.Identifier}{method.TypeParameterList}(\n        this {runtime} runtime,\n");
        text.Append(Parameters(parameters, shape, ranked ? shape.Rung : null)).Append(')');
        text.Append("\n    {\n        ArgumentNullException.ThrowIfNull(runtime);\n");
        text.Append($"        return runtime.{method.Identifier}({Arguments(parameters, shape)});\n    }}\n");
        return text.ToString();
    }

    private static bool IsAction(ParameterSyntax call) => call.Type!.ToString().EndsWith("ValueTask>", StringComparison.Ordinal);

    private static string Parameters(ParameterSyntax[] parameters, OverloadShape shape, string? rung) => string.Join(
        ",\n", parameters.Where(p => IsTaken(p, shape)).Select(p => Parameter(p, shape)).Concat(rung is null ? [] : ["        " + rung]));

    private static bool IsTaken(ParameterSyntax parameter, OverloadShape shape) =>
        !shape.HasTokenOnly || parameter.Default is null || IsToken(parameter);

    private static bool IsToken(ParameterSyntax parameter) => parameter.Type!.ToString() == "CancellationToken";

    private static string Parameter(ParameterSyntax parameter, OverloadShape shape) =>
        "        " + (IsCall(parameter) ? $"{Delegate(parameter, shape)} {parameter.Identifier}"
            : shape.HasTokenOnly ? parameter.WithDefault(null).ToString().TrimEnd() : parameter.ToString());

    private static string Delegate(ParameterSyntax call, OverloadShape shape)
    {
        SeparatedSyntaxList<TypeSyntax> types = ((GenericNameSyntax)call.Type!).TypeArgumentList.Arguments;
        return types.Last() is GenericNameSyntax result
            ? shape.WithResult!.Replace("{0}", types[0].ToString()).Replace("{1}", result.TypeArgumentList.Arguments[0].ToString())
            : shape.WithoutResult.Replace("{0}", types[0].ToString());
    }

    // Without its options, a call would mean the overload itself.
    private static string Arguments(IEnumerable<ParameterSyntax> parameters, OverloadShape shape) => string.Join(", ", parameters
        .Where(p => IsTaken(p, shape) || p.Identifier.Text == "options")
        .Select(p => p.Default is not null && shape.HasTokenOnly ? $"{p.Identifier}: {(IsToken(p) ? p.Identifier.Text : "null")}" : Argument(p, shape)));

    private static string Argument(ParameterSyntax parameter, OverloadShape shape) =>
        IsCall(parameter) && shape.Adapter(IsAction(parameter)) is { } adapter ? $"TaskCalls.{adapter}({parameter.Identifier})" : parameter.Identifier.Text;

    // The lines of its comment that tell of the parameters that an overload has.
    private static string ParameterComments(MethodDeclarationSyntax method, OverloadShape shape)
    {
        string[] left = [.. method.ParameterList.Parameters.Where(p => !IsTaken(p, shape)).Select(static p => $"/// <param name=\"{p.Identifier}\"")];
        StringBuilder lines = new();
        bool inside = false;
        foreach (string line in method.GetLeadingTrivia().ToFullString().Split('\n').Select(static l => l.Trim()))
        {
            inside |= line.StartsWith("/// <param ", StringComparison.Ordinal) && !left.Any(l => line.StartsWith(l, StringComparison.Ordinal));
            if (inside)
            {
                lines.Append($"    {line}\n");
            }

            inside &= !line.EndsWith("</param>", StringComparison.Ordinal);
        }

        return lines.ToString();
    }

    private static string Comment(MethodDeclarationSyntax method, string type)
    {
        string types = Braces(method.TypeParameterList!.ToString());
        string parameters = string.Join(", ", method.ParameterList.Parameters.Select(static p => Braces(p.Type!.ToString()).Replace("Options?", "Options")));
        return $"    /// <inheritdoc cref=\"{type}{method.Identifier}{types}({parameters})\"/>\n";
    }

    private static string Braces(string type) => type.Replace('<', '{').Replace('>', '}');
}
