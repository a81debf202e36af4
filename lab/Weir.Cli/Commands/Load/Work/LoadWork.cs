namespace Weir.Cli.Commands.Load.Work;

/// <summary>The work that is done for each item, and what its result must be.</summary>
/// <param name="Processor">Does the work. It is a field and not a method, so that all arms call the same delegate.</param>
/// <param name="Expect">The result that an item must have, found without doing the work. It is not negative, but for <see cref="Failed"/>.</param>
/// <param name="Description">What is done, for the report.</param>
internal sealed record LoadWork(Func<int, CancellationToken, ValueTask<int>> Processor, Func<int, int> Expect, string Description)
{
    /// <summary>The result that stands for a failure.</summary>
    public const int Failed = int.MinValue;

    /// <summary>The same work, but a share of the items fail at the end. The same items fail every time.</summary>
    public LoadWork Failing(double rate)
    {
        (Func<int, CancellationToken, ValueTask<int>> processor, Func<int, int> expect) = (Processor, Expect);
        bool Fails(int item) => Share.IsPicked(item, rate, salt: 2);

        async ValueTask<int> FailAsync(int item, CancellationToken cancellationToken)
        {
            await processor(item, cancellationToken);
            throw new IntendedFailureException(item);
        }

        return new LoadWork(
            (item, cancellationToken) => Fails(item) ? FailAsync(item, cancellationToken) : processor(item, cancellationToken),
            item => Fails(item) ? Failed : expect(item),
            string.Create(CultureInfo.InvariantCulture, $"{Description}; {rate:0.#####%} of the items throw then"));
    }
}
