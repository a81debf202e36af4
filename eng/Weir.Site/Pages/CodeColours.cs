using System.Net;
using System.Text;
using System.Text.RegularExpressions;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Weir.Site.Pages;

/// <summary>
/// Makes HTML of code, with a class for each kind of word: <c>k</c> keyword, <c>s</c> text, <c>n</c> number, <c>c</c> comment, <c>t</c> type, <c>m</c> method;
/// <c>add</c> and <c>del</c> for the lines of a difference.
/// </summary>
internal static partial class CodeColours
{
    private static readonly CSharpParseOptions Language = new(LanguageVersion.Latest);

    /// <param name="code">The code.</param>
    /// <param name="language">What the fence says; null for an indented block, which has commands.</param>
    public static string Html(string code, string? language) => language switch
    {
        "csharp" or "cs" or "json" => CSharp(code),
        "diff" => string.Join('\n', code.Split('\n').Select(static line => line.Length > 0 && line[0] is '+' or '-'
            ? Span(line[0] == '+' ? "add" : "del", line)
            : Text(line))),
        "xml" => Tag().Replace(Text(code), static m => Span("t", m.Value, encode: false)),
        null or "bash" => Comment().Replace(Text(code), static m => Span("c", m.Value, encode: false)),
        _ => Text(code),
    };

    private static string CSharp(string code)
    {
        StringBuilder html = new();
        foreach (SyntaxToken token in CSharpSyntaxTree.ParseText(code, Language).GetRoot().DescendantTokens())
        {
            Append(html, token.LeadingTrivia);
            html.Append(KindOf(token) is { } kind && token.Span.Length > 0 ? Span(kind, token.Text) : Text(token.Text));
            Append(html, token.TrailingTrivia);
        }

        return html.ToString();
    }

    private static void Append(StringBuilder html, SyntaxTriviaList trivia)
    {
        foreach (SyntaxTrivia part in trivia)
        {
            html.Append(part.IsKind(SyntaxKind.SingleLineCommentTrivia) || part.IsKind(SyntaxKind.MultiLineCommentTrivia)
                ? Span("c", part.ToFullString())
                : Text(part.ToFullString()));
        }
    }

    private static string? KindOf(SyntaxToken token) => token.Kind() switch
    {
        SyntaxKind.NumericLiteralToken => "n",
        SyntaxKind.StringLiteralToken or SyntaxKind.CharacterLiteralToken or SyntaxKind.InterpolatedStringStartToken or SyntaxKind.InterpolatedStringTextToken
            or SyntaxKind.InterpolatedStringEndToken or SyntaxKind.SingleLineRawStringLiteralToken or SyntaxKind.MultiLineRawStringLiteralToken
            or SyntaxKind.InterpolatedRawStringEndToken or SyntaxKind.InterpolatedMultiLineRawStringStartToken => "s",
        SyntaxKind.IdentifierToken => KindOfName(token),
        var kind => SyntaxFacts.IsKeywordKind(kind) ? "k" : null,
    };

    // Without its compilation, code says only by its form what a name is.
    private static string? KindOfName(SyntaxToken name) => name.Parent switch
    {
        IdentifierNameSyntax when name.Text == "var" => "k",
        BaseTypeDeclarationSyntax or TypeParameterSyntax => "t",
        MethodDeclarationSyntax or LocalFunctionStatementSyntax => "m",
        SimpleNameSyntax { Parent: InvocationExpressionSyntax } => "m",
        SimpleNameSyntax { Parent: MemberAccessExpressionSyntax { Parent: InvocationExpressionSyntax } access } own when access.Name == own => "m",
        GenericNameSyntax => "t",
        IdentifierNameSyntax { Parent: BaseObjectCreationExpressionSyntax or VariableDeclarationSyntax or ParameterSyntax or TypeArgumentListSyntax
            or BaseTypeSyntax or MethodDeclarationSyntax or PropertyDeclarationSyntax or LocalFunctionStatementSyntax or NullableTypeSyntax
            or ArrayTypeSyntax or ForEachStatementSyntax or DeclarationExpressionSyntax or CatchDeclarationSyntax or AttributeSyntax } => "t",
        IdentifierNameSyntax { Parent: MemberAccessExpressionSyntax access } own when access.Expression == own && char.IsUpper(name.Text[0]) => "t",
        _ => null,
    };

    private static string Span(string kind, string text, bool encode = true) => $"<span class=\"{kind}\">{(encode ? Text(text) : text)}</span>";

    private static string Text(string text) => WebUtility.HtmlEncode(text);

    // In text that is encoded already.
    [GeneratedRegex(@"&lt;/?[\w.:-]+|/?&gt;")]
    private static partial Regex Tag();

    [GeneratedRegex("(?<=^|  )# .*$", RegexOptions.Multiline)]
    private static partial Regex Comment();
}
