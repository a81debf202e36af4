namespace Weir.Core.Tests.Architecture;

/// <summary>One folder uses a type of another.</summary>
internal sealed record FolderUse(string From, string To, string Example)
{
    public override string ToString() => $"{From} uses {To}: {Example}";
}
