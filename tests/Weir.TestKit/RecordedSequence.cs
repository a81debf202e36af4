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
            try
            {
                if (_next == plan.WaitsAt)
                {
                    plan.Gate!.Wait();
                }

                plan.Check(_next);
                _ended = !plan.Has(_next);
                Current = _next++;
                return !_ended;
            }
            catch
            {
                _ended = true;
                throw;
            }
            finally
            {
                plan.Record.EndRead();
            }
        }

        public void Reset() => throw new NotSupportedException();

        public void Dispose()
        {
            _ended = true;
            plan.Close();
        }
    }
}
