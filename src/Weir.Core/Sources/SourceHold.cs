namespace Weir.Core.Sources;

/// <summary>Whether items that have not begun may be claimed. Those that come back for another attempt always may.</summary>
internal enum SourceHold : byte
{
    None = 0,

    /// <summary>Not for now.</summary>
    Paused,

    /// <summary>Never again.</summary>
    Stopped,
}
