using System.Globalization;

namespace Weir.Cli.Commands.Load.Work;

/// <summary>Lets a share of the items do their work and then fail: always the same ones.</summary>
internal sealed class FailingWork : LoadWork
{
    private readonly LoadWork _inner;
    private readonly double _rate;

    public FailingWork(LoadWork inner, double rate)
    {
        _inner = inner;
        _rate = rate;
        Func<int, CancellationToken, ValueTask<int>> processor = inner.Processor;
        Processor = (item, cancellationToken) => Fails(item) ? FailAsync(item, cancellationToken) : processor(item, cancellationToken);
    }

    public override Func<int, CancellationToken, ValueTask<int>> Processor { get; }

    public override string Description => string.Create(CultureInfo.InvariantCulture, $"{_inner.Description}; {_rate:0.#####%} of the items throw then");

    public override int Expect(int item) => Fails(item) ? Failed : _inner.Expect(item);

    protected override void End() => _inner.Dispose();

    private bool Fails(int item) => Share.IsPicked(item, _rate, salt: 2);

    private async ValueTask<int> FailAsync(int item, CancellationToken cancellationToken)
    {
        await _inner.Processor(item, cancellationToken).ConfigureAwait(false);
        throw new IntendedFailureException(item);
    }
}
