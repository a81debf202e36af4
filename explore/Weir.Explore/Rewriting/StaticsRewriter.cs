namespace Weir.Explore.Rewriting;

/// <summary>Lets a class with static fields be initialized again before each schedule.</summary>
internal sealed class StaticsRewriter(ModuleDefinition module, PointCalls points)
{
    private const MethodAttributes StaticHelper = MethodAttributes.Private | MethodAttributes.Static | MethodAttributes.HideBySig;

    /// <summary>One of them may be in a process once.</summary>
    private const string EventSource = "System.Diagnostics.Tracing.EventSource";

    public void Rewrite(TypeDefinition type)
    {
        FieldDefinition[] fields = [.. type.Fields.Where(static f => f.IsStatic && !f.IsLiteral && f.RVA == 0)];
        if (type.Name.StartsWith('<') || type.IsEnum || fields.Length == 0 || type.BaseType?.FullName == EventSource)
        {
            return;
        }

        FieldDefinition[] ofThreads = [.. fields.Where(static f => f.CustomAttributes.Any(static a => a.AttributeType.Name == nameof(ThreadStaticAttribute)))];
        FieldDefinition[] ofAll = [.. fields.Except(ofThreads)];
        foreach (FieldDefinition field in fields)
        {
            field.IsInitOnly = false;
        }

        MethodDefinition? old = type.Methods.FirstOrDefault(static m => m.Name == ".cctor");
        MethodDefinition constructor = new(
            ".cctor", StaticHelper | MethodAttributes.SpecialName | MethodAttributes.RTSpecialName, module.TypeSystem.Void);
        ILProcessor il = constructor.Body.GetILProcessor();
        if (ofThreads.Length > 0)
        {
            Register(il, type, Clear(type, "<Explore>ClearThread", ofThreads, null), points.Of(typeof(Statics), nameof(Statics.RegisterThread)));
        }

        if (ofAll.Length > 0 || old is not null)
        {
            if (old is not null)
            {
                old.Name = "<Explore>Initialize";
                old.Attributes = StaticHelper;
            }

            Register(il, type, Clear(type, "<Explore>Reset", ofAll, old), points.Of(typeof(Statics), nameof(Statics.Register)));
        }

        il.Emit(OpCodes.Ret);
        type.Methods.Add(constructor);
        if (old is null)
        {
            type.IsBeforeFieldInit = true;
        }
    }

    private void Register(ILProcessor il, TypeDefinition type, MethodDefinition method, MethodReference register)
    {
        il.Emit(OpCodes.Ldnull);
        il.Emit(OpCodes.Ldftn, Own(type, method));
        il.Emit(OpCodes.Newobj, points.NewAction);
        il.Emit(OpCodes.Call, register);
    }

    private MethodDefinition Clear(TypeDefinition type, string name, FieldDefinition[] fields, MethodDefinition? then)
    {
        MethodDefinition method = new(name, StaticHelper, module.TypeSystem.Void);
        ILProcessor il = method.Body.GetILProcessor();
        foreach (FieldDefinition field in fields)
        {
            il.Emit(OpCodes.Ldsflda, Own(type, field));
            il.Emit(OpCodes.Initobj, field.FieldType is RequiredModifierType modified ? modified.ElementType : field.FieldType);
        }

        if (then is not null)
        {
            il.Emit(OpCodes.Call, Own(type, then));
        }

        il.Emit(OpCodes.Ret);
        type.Methods.Add(method);
        return method;
    }

    private static TypeReference Own(TypeDefinition type) => type.HasGenericParameters
        ? type.MakeGenericInstanceType([.. type.GenericParameters])
        : type;

    private static MethodReference Own(TypeDefinition type, MethodDefinition method) => new(method.Name, method.ReturnType, Own(type));

    private static FieldReference Own(TypeDefinition type, FieldDefinition field) => new(field.Name, field.FieldType, Own(type));
}
