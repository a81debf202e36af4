using System.Collections;

namespace Weir.TestKit;

internal class RecordedSequence(SourcePlan plan) : IEnumerable<int>
{
    protected SourcePlan Plan => plan;

    public IEnumerator<int> GetEnumerator()
    {
        plan.Open();
        return new Enumerator(plan);
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    private sealed class Enumerator(SourcePlan plan) : IEnumerator<int>
    {
        private int _next;
        private bool _ended;

        public int Current { get; private set; }

        object IEnumerator.Current => Current;

        public bool MoveNext()
        {
            plan.Record.BeginRead(!_ended);
            Current = plan.Step(ref _next, ref _ended, waits: _next == plan.WaitsAt);
            return !_ended;
        }

        public void Reset() => throw new NotSupportedException();

        public void Dispose()
        {
            _ended = true;
            plan.Close();
        }
    }
}
