using System.Diagnostics.CodeAnalysis;
using System.Threading.Channels;

namespace Weir.TestKit;

/// <summary>The reader of a channel for one reader. Before every third item it is empty for a moment.</summary>
internal sealed class RecordedChannelReader(SourcePlan plan) : ChannelReader<int>
{
    private int _next;
    private bool _ready;

    public override bool TryRead(out int item)
    {
        plan.Record.BeginRead(allowed: true);
        try
        {
            item = _next;
            bool blocked = (_next % 3 == 0 || _next == plan.WaitsAt) && !_ready;
            if (blocked || !plan.Has(_next) || _next == plan.ThrowsAt)
            {
                return false;
            }

            _ready = false;
            _next++;
            return true;
        }
        finally
        {
            plan.Record.EndRead();
        }
    }

    [SuppressMessage("Reliability", "CA2016:Forward the token", Justification = "A source may ignore it.")]
    public override async ValueTask<bool> WaitToReadAsync(CancellationToken cancellationToken = default)
    {
        plan.Record.BeginRead(allowed: true);
        try
        {
            await Task.Yield();
            if (!plan.IgnoresToken)
            {
                cancellationToken.ThrowIfCancellationRequested();
            }

            if (_next == plan.WaitsAt)
            {
                await plan.Gate!.WaitAsync(plan.IgnoresToken ? CancellationToken.None : cancellationToken);
            }

            plan.Check(_next);
            _ready = plan.Has(_next);
            return _ready;
        }
        finally
        {
            plan.Record.EndRead();
        }
    }
}
