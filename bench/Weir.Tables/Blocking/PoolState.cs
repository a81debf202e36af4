namespace Weir.Tables.Blocking;

/// <summary>The thread pool that the calls of a run find.</summary>
internal enum PoolState
{
    /// <summary>That of a new process: it has as many threads as there are processors, and adds others one by one.</summary>
    Fresh,

    /// <summary>Of a new process, with neighbours on it that compute and that block.</summary>
    Busy,

    /// <summary>It gives a thread to whoever asks.</summary>
    Wide,
}
