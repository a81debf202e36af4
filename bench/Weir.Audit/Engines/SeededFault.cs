namespace Weir.Audit.Engines;

/// <summary>A fault that is put into the workers on purpose, so that the audit can be seen to find it.</summary>
internal enum SeededFault
{
    None,

    /// <summary>The worker acknowledges what it gets at once: what runs when it dies is lost.</summary>
    AckBeforeEffect,

    /// <summary>The effect is committed before the identity of its message: who dies in between applies it twice.</summary>
    EffectOutsideTransaction,

    /// <summary>Neither the queue nor the worker keeps the order of a key.</summary>
    NoKeyOrder,
}
