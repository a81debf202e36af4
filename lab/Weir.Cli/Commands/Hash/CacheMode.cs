namespace Weir.Cli.Commands.Hash;

/// <summary>What the page cache holds of the files when a round begins.</summary>
internal enum CacheMode
{
    /// <summary>Nothing: the files are dropped from it.</summary>
    Drop,

    /// <summary>Everything: the files are read once before.</summary>
    Warm,

    /// <summary>Irrelevant: all reads bypass the cache.</summary>
    Direct,
}
