namespace Weir.Lab.Results;

/// <summary>The sources that figures belong to: the tree of the directory in which the command ran.</summary>
/// <param name="Commit">The commit.</param>
/// <param name="Clean">Whether no file that git tracks was changed since.</param>
public sealed record SourceRecord(string Commit, bool Clean)
{
    /// <summary>The commit, with a word when something was changed since.</summary>
    [JsonIgnore]
    public string Text => Clean ? Commit : Commit + " with changes";

    /// <summary>Reads it; <see langword="null"/> outside a repository of git.</summary>
    internal static SourceRecord? Read(GitCalls? git = null) =>
        SourceTree.ReadBy(git ?? new GitCalls()) is { } tree ? new SourceRecord(tree.Commit, tree.IsClean) : null;
}
