namespace Weir.Cli.Commands.Hash;

/// <summary>A way to hash the files.</summary>
internal enum HashArm
{
    /// <summary>Dedicated threads that read and hash, blocking.</summary>
    Sync,

    /// <summary>The same threads, each waiting while its files are read and hashed asynchronously.</summary>
    Async,

    /// <summary>Dedicated threads that read past the page cache.</summary>
    Direct,

    /// <summary>The asynchronous code under the library's own loop; no thread of ours.</summary>
    ForEach,
}
