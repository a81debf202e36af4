using System.Diagnostics.CodeAnalysis;
using Weir.Lab.Trials;

namespace Weir.Lab.Workloads;

/// <summary>
/// Work that is done for an item, with a result that is known beforehand: by runtimes and peers over many items, and by workers again and again.
/// </summary>
/// <remarks>
/// A class of its own for each kind. What it needs is made in <see cref="IWorkload.SetupAsync"/>, and given back in <see cref="IWorkload.CleanupAsync"/>.
/// Results are not negative.
/// </remarks>
internal abstract class ItemWorkload : IWorkload
{
    /// <summary>Does the work. It is a field and not a method, so that all arms call the same delegate. Known after the setup.</summary>
    public abstract Func<int, CancellationToken, ValueTask<int>> Call { get; }

    /// <inheritdoc/>
    public abstract string Name { get; }

    /// <summary>Whether a call may suspend: otherwise it blocks, and each worker has a thread of its own.</summary>
    protected virtual bool Suspends => false;

    /// <summary>The result that an item must have, found without doing the work.</summary>
    public virtual int Expect(int item) => item;

    /// <summary>What is done, with what is known only after the setup; <see langword="null"/> for what the catalogue says.</summary>
    public virtual ValueTask<string?> DescribeAsync(CancellationToken cancellationToken) => default;

    /// <inheritdoc/>
    public virtual ValueTask SetupAsync(WorkerRunSpec spec, CancellationToken cancellationToken) => default;

    /// <inheritdoc/>
    public virtual ValueTask BeginRoundAsync(CancellationToken cancellationToken) => default;

    /// <inheritdoc/>
    public virtual Operation CreateOperation(WorkerContext context)
    {
        Func<int, CancellationToken, ValueTask<int>> call = Call;
        int item = context.Worker;
        return Suspends
            ? Operation.OfAsync(async ValueTask<int> () =>
            {
                int own = Next(ref item);
                return Checked(own, await call(own, CancellationToken.None).ConfigureAwait(false));
            })
            : Operation.Of(() =>
            {
                int own = Next(ref item);
                ValueTask<int> pending = call(own, CancellationToken.None);
                return Checked(own, pending.IsCompletedSuccessfully ? pending.Result : pending.AsTask().GetAwaiter().GetResult());
            });
    }

    /// <inheritdoc/>
    public virtual string? Check(RoundTotals round) => null;

    /// <inheritdoc/>
    public virtual ValueTask CleanupAsync() => default;

    // An item is no negative number.
    private static int Next(ref int item) => item = (item + 1) & int.MaxValue;

    private int Checked(int item, int result) => result == Expect(item) ? result : ThrowWrong(item, result);

    [DoesNotReturn]
    private int ThrowWrong(int item, int result) =>
        throw new InvalidDataException($"The work of {Name} for {item} came to {result} instead of {Expect(item)}.");
}

/// <summary>
/// The checksum of a pass: the sum of all results, each times an odd number of its own, so that a result at a wrong position shows as well as a wrong one.
/// </summary>
internal static class ItemChecksum
{
    /// <summary>What one result adds.</summary>
    public static long Part(int result, int item) => unchecked(result * ((2L * item) + 1));

    /// <summary>What a pass must come to, found one item after the other without any runtime.</summary>
    public static PassResult Expected(Func<int, int> expect, int count)
    {
        long sum = 0;
        for (int item = 0; item < count; item++)
        {
            sum = unchecked(sum + Part(expect(item), item));
        }

        return new PassResult(count, sum);
    }
}
