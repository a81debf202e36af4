namespace Weir.Lab.Suites.Peers.Dataflow;

/// <summary>How messages get into a block.</summary>
/// <param name="Post">Posts to it: it has no bound.</param>
/// <param name="SendAsync">Sends to it, and waits for room.</param>
internal sealed record BlockInput(Func<int, bool> Post, Func<int, Task<bool>> SendAsync);
