namespace Weir.Tables.SelfChecks;

/// <summary>A check of the lab by itself.</summary>
/// <param name="Name">The name by which it is asked for.</param>
/// <param name="Title">The title of its section.</param>
/// <param name="RunAsync">Does it.</param>
internal sealed record SelfCheck(string Name, string Title, Func<CancellationToken, Task<CheckSection>> RunAsync);
