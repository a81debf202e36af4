namespace Weir.Packages.Tests.Support;

/// <summary>The first example of a page, and what it says that it prints.</summary>
internal static class Readme
{
    /// <summary>The first example of the README.</summary>
    public static string First { get; } = FirstOf("README.md");

    /// <summary>What it writes: the comment behind its last statement.</summary>
    public static string Output { get; } = First[(First.LastIndexOf("// ", StringComparison.Ordinal) + 3)..].Trim();

    /// <summary>The first example of a page of the repository.</summary>
    public static string FirstOf(params string[] page)
    {
        const string Fence = "```csharp\n";
        string text = File.ReadAllText(Path.Combine([Repository.Root, .. page]));
        int start = text.IndexOf(Fence, StringComparison.Ordinal) + Fence.Length;
        return text[start..text.IndexOf("```", start, StringComparison.Ordinal)];
    }
}
