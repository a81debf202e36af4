using Akka.Actor;
using Akka.Streams;
using Akka.Streams.Dsl;

namespace Weir.Lab.Suites.Peers;

/// <summary>
/// Akka.Streams as its documentation recommends: one actor system and one materializer for the whole process, with the settings that they have by
/// themselves. Each result goes to a delegate, one at a time.
/// </summary>
internal static class AkkaStreams
{
    // A failure goes to the caller; its log would stand between the lines of the report.
    private static readonly Lazy<IMaterializer> s_materializer =
        new(static () => ActorSystem.Create("peer", "akka { loglevel = OFF, stdout-loglevel = OFF }").Materializer());

    /// <summary>Results in source order.</summary>
    public static Task SelectAsync(IEnumerable<int> items, int limit, ItemCall call, Action<int> receive) =>
        Source.From(items)
            .SelectAsync(limit, item => call(item, CancellationToken.None).AsTask())
            .RunForeach(receive, s_materializer.Value);

    /// <summary>Results as they come.</summary>
    public static Task SelectAsyncUnordered(IEnumerable<int> items, int limit, ItemCall call, Action<int> receive) =>
        Source.From(items)
            .SelectAsyncUnordered(limit, item => call(item, CancellationToken.None).AsTask())
            .RunForeach(receive, s_materializer.Value);
}
