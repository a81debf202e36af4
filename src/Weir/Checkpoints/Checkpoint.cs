using System.Globalization;
using System.Security.Cryptography;
using Weir.Checkpoints;

namespace Weir;

/// <summary>
/// Where a run notes which of its items are done, so that the next run goes on where this one stopped: <c>Resume = Checkpoint.File("import.done")</c>. See
/// docs/reference/resume.md.
/// </summary>
/// <remarks>
/// Immutable: each method returns a changed copy. Items are told apart by their position, for sources that give the same items in the same order again, or by a
/// key (<see cref="By{TItem, TKey}"/>). What is done is saved several times a second and at the end of the run. One run at a time may use a checkpoint.
/// </remarks>
public sealed record Checkpoint
{
    // As much of a source file as is compared, besides its length.
    private const int HashedBytes = 1 << 20;

    internal Checkpoint(CheckpointStore store) => Store = store;

    /// <summary>Called when a run begins that goes on, before its first item, with the number of items that are done already.</summary>
    /// <value>The default is <see langword="null"/>. An exception from it fails the run.</value>
    public Action<long>? OnResume { get; init; }

    internal CheckpointStore Store { get; }

    /// <summary>Called when items have been noted as done. Tests wait for it; otherwise null.</summary>
    internal Action? OnNoted { get; init; }

    /// <summary>The file that the source reads, or null.</summary>
    internal string? SourceFile { get; private init; }

    /// <summary>What the user calls the source, with its version, or null.</summary>
    internal string? SourceVersion { get; private init; }

    /// <summary>The key of an item as text, a function from the item's type; null for positions.</summary>
    internal Delegate? Key { get; private init; }

    /// <summary>Notes what is done in a file.</summary>
    /// <param name="path">The file. It is made by the first save. Beside it, <c>path.lock</c> keeps a second run away, and stays.</param>
    /// <returns>The checkpoint.</returns>
    /// <exception cref="ArgumentException"><paramref name="path"/> is empty.</exception>
    /// <remarks>
    /// A save writes a new file beside, flushes it to the disk, renames it and flushes the folder, so the checkpoint is always a whole one. A save that fails, for
    /// example because the disk is full, stops the run with an <see cref="IOException"/>.
    /// </remarks>
    public static Checkpoint File(string path)
    {
        ArgumentException.ThrowIfNullOrEmpty(path);
        return new Checkpoint(new CheckpointFile(Path.GetFullPath(path), CheckpointDisk.Real));
    }

    /// <summary>Says that the source reads a file, such as its lines. A run goes on only if its length and its first megabyte are the same.</summary>
    /// <param name="path">The file.</param>
    /// <returns>The checkpoint, for that source.</returns>
    /// <exception cref="ArgumentException"><paramref name="path"/> is empty.</exception>
    public Checkpoint OfFile(string path)
    {
        ArgumentException.ThrowIfNullOrEmpty(path);
        return this with { SourceFile = Path.GetFullPath(path), SourceVersion = null };
    }

    /// <summary>Says which source this is, and which version of it. A run goes on only if both are the same.</summary>
    /// <param name="name">The name of the source.</param>
    /// <param name="version">Anything that changes whenever the items or their order do, such as the date of an export.</param>
    /// <returns>The checkpoint, for that source.</returns>
    /// <exception cref="ArgumentException"><paramref name="name"/> or <paramref name="version"/> is empty.</exception>
    public Checkpoint OfVersion(string name, string version)
    {
        ArgumentException.ThrowIfNullOrEmpty(name);
        ArgumentException.ThrowIfNullOrEmpty(version);
        return this with { SourceVersion = $"{name} {version}", SourceFile = null };
    }

    /// <summary>Tells items apart by a key, for sources that need not give the same items in the same order: <c>.By((Order o) => o.Id)</c>.</summary>
    /// <typeparam name="TItem">The type of the items.</typeparam>
    /// <typeparam name="TKey">The type of the keys: text, an integer or a <see cref="Guid"/>.</typeparam>
    /// <param name="key">
    /// Returns the key of an item. Each item needs another one: a run that reads the same key twice fails. It is called once per item and run, by one worker at a
    /// time. An exception from it is a failure of the source.
    /// </param>
    /// <returns>The checkpoint, by key.</returns>
    /// <exception cref="ArgumentNullException"><paramref name="key"/> is <see langword="null"/>.</exception>
    /// <exception cref="ArgumentException"><typeparamref name="TKey"/> is no text, integer or <see cref="Guid"/>.</exception>
    /// <remarks>
    /// All keys that the run reads, and those that were done before, are kept in memory, at most a million: with more, the run fails. Each save writes those that
    /// are done.
    /// </remarks>
    public Checkpoint By<TItem, TKey>(Func<TItem, TKey> key)
        where TKey : notnull
    {
        ArgumentNullException.ThrowIfNull(key);
        CheckKey<TKey>(nameof(key));
        return this with { Key = (Func<TItem, string>)(item => TextOf(key(item))) };
    }

    /// <summary>What the source is, as text, if that was said.</summary>
    /// <exception cref="IOException">The source file cannot be read.</exception>
    internal string? SourceText()
    {
        if (SourceFile is null)
        {
            return SourceVersion;
        }

        return CheckpointStore.Reading("source", SourceFile, () =>
        {
            using FileStream file = new(SourceFile, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete, 1);
            byte[] start = new byte[Math.Min(HashedBytes, file.Length)];
            int read = file.ReadAtLeast(start, start.Length, throwOnEndOfStream: false);
            return $"file of {file.Length.ToString(CultureInfo.InvariantCulture)} bytes {Convert.ToHexString(SHA256.HashData(start.AsSpan(0, read)))}";
        });
    }

    /// <summary>Checks the type of keys.</summary>
    /// <exception cref="ArgumentException">It is no text, integer or <see cref="Guid"/>.</exception>
    internal static void CheckKey<TKey>(string parameter)
    {
        if (typeof(TKey) != typeof(string) && typeof(TKey) != typeof(Guid) && Type.GetTypeCode(typeof(TKey)) is not (>= TypeCode.SByte and <= TypeCode.UInt64))
        {
            throw new ArgumentException($"The keys of a checkpoint must be text, integers or Guids, not {typeof(TKey).Name}.", parameter);
        }
    }

    /// <summary>A key as it is noted.</summary>
    internal static string TextOf<TKey>(TKey key) =>
        key is null ? throw new InvalidOperationException("The key of an item is null.")
        : key is string text ? text
        : ((IFormattable)key).ToString(null, CultureInfo.InvariantCulture);
}
