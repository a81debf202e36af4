namespace Weir.Lab.Results;

/// <summary>Where the time of one more round went, and what it allocated. The round itself is in no other figure.</summary>
public sealed record ProfileRecord
{
    /// <summary>Stands for what the measuring loop itself does, and for code that was inlined into it.</summary>
    public const string LabLoop = "(the lab's loop)";

    /// <summary>
    /// Stands for an operation of which nothing is known but that it had just returned: the runtime can take some samples only then. It is shown only if no
    /// sample has more, otherwise its samples are divided among the others.
    /// </summary>
    internal const string Operation = "(the operation)";

    /// <summary>How long the round was, in seconds.</summary>
    public required double Seconds { get; init; }

    /// <summary>
    /// How fast it was, in operations per second, while the stacks were sampled: how much slower than the other rounds is the sampling's cost.
    /// </summary>
    public double? Rate { get; init; }

    /// <summary>How fast it was while the awaits were recorded.</summary>
    public double? AwaitsRate { get; init; }

    /// <summary>Stacks of threads that worked, with how often each was found, the most frequent first.</summary>
    public IReadOnlyList<ProfileStack> Stacks { get; init; } = [];

    /// <summary>Stacks of threads of the work that waited, with how often each was found, the most frequent first.</summary>
    public IReadOnlyList<ProfileStack> Waits { get; init; } = [];

    /// <summary>What asynchronous methods awaited, and which of them were held by it, the longest first.</summary>
    public IReadOnlyList<ProfileAwait> Awaits { get; init; } = [];

    /// <summary>Types of which objects were allocated, that with the most bytes first.</summary>
    public IReadOnlyList<ProfileAllocation> Allocations { get; init; } = [];

    /// <summary>How many samples of work there are.</summary>
    [JsonIgnore]
    public int Samples => Stacks.Sum(static s => s.Samples);

    /// <summary>How many samples of waiting there are.</summary>
    [JsonIgnore]
    public int Waiting => Waits.Sum(static s => s.Samples);

    /// <summary>The methods, first that in which most samples ended.</summary>
    public IReadOnlyList<ProfileMethod> Methods()
    {
        Dictionary<string, (int Exclusive, int Inclusive)> methods = [];
        foreach (ProfileStack stack in Stacks)
        {
            IReadOnlyList<string> frames = stack.Path;

            // A method that calls itself is in the stack several times, and still counts once.
            foreach (string frame in frames.Distinct())
            {
                (int exclusive, int inclusive) = methods.GetValueOrDefault(frame);
                methods[frame] = (exclusive + (frame == frames[^1] ? stack.Samples : 0), inclusive + stack.Samples);
            }
        }

        return
        [
            .. methods.Select(static m => new ProfileMethod(m.Key, m.Value.Exclusive, m.Value.Inclusive))
                .OrderByDescending(static m => m.Exclusive).ThenByDescending(static m => m.Inclusive).ThenBy(static m => m.Name, StringComparer.Ordinal),
        ];
    }
}
