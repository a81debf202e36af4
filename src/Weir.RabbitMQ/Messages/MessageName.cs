using System.Globalization;

namespace Weir.RabbitMQ;

/// <summary>
/// The identity of a message, made of those of its items: a message with the same items in the same attempt has the same identity, however often it is
/// published, and by which process.
/// </summary>
internal struct MessageName
{
    private const ulong Offset = 14695981039346656037;
    private const ulong Prime = 1099511628211;

    private WorkId _first;
    private int _lastIndex;
    private int _attempt;
    private ulong _hash;
    private bool _isRange;

    public void Add(WorkId id, int attempt, bool isFirst, bool follows)
    {
        if (isFirst)
        {
            _first = id;
            _attempt = attempt;
            _hash = Offset;
            _isRange = true;
        }

        // Only if the first and the last item do not identify all of them.
        if (!isFirst && _isRange && !(follows && attempt == _attempt))
        {
            _isRange = false;
            Mix(_first.Index, _lastIndex);
        }

        if (!_isRange)
        {
            foreach (char c in id.Origin)
            {
                _hash = (_hash ^ c) * Prime;
            }

            Mix(id.Index, attempt);
        }

        _lastIndex = id.Index;
    }

    /// <summary>At most 255 bytes, which is the limit of AMQP. A longer name is cut off and gets a hash.</summary>
    public override readonly string ToString()
    {
        string attempt = _attempt == 1 ? "" : string.Create(CultureInfo.InvariantCulture, $"~{_attempt}");
        string last = !_isRange ? string.Create(CultureInfo.InvariantCulture, $"+{_hash:x16}")
            : _lastIndex == _first.Index ? "" : string.Create(CultureInfo.InvariantCulture, $"-{_lastIndex}");
        string origin = _first.Origin;
        if (EnvelopeFormat.Text.GetByteCount(origin) > 150)
        {
            ulong hash = Offset;
            foreach (char c in origin)
            {
                hash = (hash ^ c) * Prime;
            }

            origin = string.Create(CultureInfo.InvariantCulture, $"{hash:x16}");
        }

        return string.Create(CultureInfo.InvariantCulture, $"{origin}/{_first.Index}{last}{attempt}");
    }

    private void Mix(int first, int second) => _hash = (((_hash ^ (uint)first) * Prime) ^ (uint)second) * Prime;
}
