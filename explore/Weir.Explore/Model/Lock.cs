namespace Weir.Explore.Model;

[Replaces("System.Threading.Lock")]
internal sealed class Lock
{
    private readonly LockState _state = new("a Lock");

    public bool IsHeldByCurrentThread => _state.IsMine;

    public void Enter() => _state.Enter();

    public Scope EnterScope()
    {
        _state.Enter();
        return new Scope(this);
    }

    public void Exit() => _state.Exit();

    public bool TryEnter() => TryEnter(TimeSpan.Zero);

    public bool TryEnter(int millisecondsTimeout) => TryEnter(TimeSpan.FromMilliseconds(millisecondsTimeout));

    public bool TryEnter(TimeSpan timeout) => _state.TryEnter(timeout);

    public ref struct Scope(Lock taken)
    {
        private Lock? _taken = taken;

        public void Dispose()
        {
            _taken?.Exit();
            _taken = null;
        }
    }
}
